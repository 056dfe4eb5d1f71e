"""One call of an operator under `torch.vmap`: its arguments, and where the batch of each stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright_bindings.torch.runtime.arguments import Arguments

__all__ = ["Batch", "Looping", "Rule"]

Rule = Callable[..., tuple[Any, Any]]


class Batch:
    """One batched call: all arguments, and the dimension of the batch of each, None for those without."""

    def __init__(self, info: Any, in_dims: Any, args: Any, kwargs: Any, arguments: Arguments) -> None:
        self.size = info.batch_size
        self._arguments = arguments
        self.values = arguments.filled(tuple(args), kwargs)
        self.dims: list[Any] = [*in_dims, *[None] * (len(self.values) - len(in_dims))]

    def rank(self, position: int) -> int:
        """Return the number of dimensions of a sample."""
        return int(self.values[position].dim()) - (self.dims[position] is not None)

    def of(self, positions: Sequence[int]) -> list[tuple[torch.Tensor, int | None]]:
        """Return tensors with the dimension of their batch."""
        return [(self.values[position], self.dims[position]) for position in positions]

    def expanded(self, position: int) -> torch.Tensor:
        """Return the tensor with its batch first: the same for each sample where it has none."""
        value, dim = self.values[position], self.dims[position]
        found: torch.Tensor = value.expand(self.size, *value.shape) if dim is None else value.movedim(dim, 0)
        return found

    def padded(self, position: int, rank: int) -> torch.Tensor:
        """Return the tensor with its batch first, and sizes of 1 up to `rank` dimensions after that."""
        value = self.values[position].movedim(self.dims[position], 0)
        ones = [1] * (rank - value.dim() + 1)
        found: torch.Tensor = value.reshape(value.shape[:1] + tuple(ones) + value.shape[1:]) if ones else value
        return found

    def sample(self, position: int) -> Any:
        """Return an argument of the first sample."""
        return _selected(self.values[position], self.dims[position], 0)

    def called_sample(self, overload: torch._ops.OpOverload) -> Any:
        """Return the result of the first sample, or raise what the operator says of it."""
        return self.call(overload, [self.sample(position) for position in range(len(self.values))])

    def called(self, overload: torch._ops.OpOverload) -> tuple[Any, Any]:
        """Return the results of one call, whose first dimension is the batch."""
        result = self.call(overload, self.values)
        if isinstance(result, (tuple, list)):
            return result, type(result)([0] * len(result))
        return result, 0

    def looped(self, overload: torch._ops.OpOverload) -> tuple[Any, Any]:
        """Return the results of a call for each sample, stacked."""
        samples = []
        for index in range(self.size):
            values = [_selected(value, dim, index) for value, dim in zip(self.values, self.dims, strict=True)]
            samples.append(self.call(overload, values))
        if isinstance(samples[0], (tuple, list)):
            kind = type(samples[0])
            return kind([torch.stack(each) for each in zip(*samples, strict=True)]), kind([0] * len(samples[0]))
        return torch.stack(samples), 0

    def call(self, overload: torch._ops.OpOverload, values: Sequence[Any]) -> Any:
        """Return the results of a call with these arguments."""
        positional = len([each for each in overload._schema.arguments if not each.kwarg_only])
        named = dict(zip(self._arguments.names[positional:], values[positional:], strict=True))
        return overload(*values[:positional], **named)


class Looping:
    """The family of operators that take or return lists and have no other: PyTorch itself loops over tensors alone."""

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: a call for each sample."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            return Batch(info, in_dims, args, kwargs, arguments).looped(overload)

        return rule


def _selected(value: Any, dim: Any, index: int) -> Any:
    """Return an argument of one sample."""
    if isinstance(dim, (list, tuple)):
        return [_selected(each, one, index) for each, one in zip(value, dim, strict=True)]
    return value if dim is None else value.select(dim, index)
