"""Rules for `torch.vmap`, by the part that arguments play: the same families as our own `vmap` has.

An operator without one is called for each sample by PyTorch itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from opwright.doors.torch.arguments import Arguments

__all__ = ["Along", "Elementwise", "Family", "Leading"]

Rule = Callable[..., tuple[Any, Any]]


class Family(Protocol):
    """A family of operators that are batched alike."""

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule `(info, in_dims, *args, **kwargs)` of one operator."""


class Elementwise:
    """The family of operators whose operands, at these positions, broadcast with each other.

    `onto_first`: the others broadcast to the first one's shape. `masks` are operands whose dtype does not count.
    """

    def __init__(self, *operands: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        self.operands = operands
        self.promoted = () if onto_first else tuple([each for each in operands if each not in masks])
        self.onto_first = onto_first

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: sizes of 1 stand behind the batch, so that samples broadcast as they would alone."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = _Batch(info, in_dims, args, kwargs, arguments)
            operands = [place for place in self.operands if isinstance(batch.values[place], torch.Tensor)]
            self._promote(batch, [place for place in operands if place in self.promoted])
            most = max(batch.rank(place) for place in operands)
            for place in operands:
                if self.onto_first and place == self.operands[0]:
                    batch.values[place] = batch.expanded(place)
                elif batch.dims[place] is not None:
                    batch.values[place] = batch.padded(place, most)
            return batch.called(overload)

        return rule

    @staticmethod
    def _promote(batch: _Batch, places: Sequence[int]) -> None:
        """Cast operands as samples are promoted: one without dimensions gives way, and its batch would not."""
        values = [batch.values[place] for place in places]
        if len({value.dtype for value in values}) < 2 or all(batch.rank(place) for place in places):
            return
        samples = [value if dim is None else value.select(dim, 0) for value, dim in batch.of(places)]
        dtype = samples[0].dtype
        dtype = _promoted(samples) if len(samples) > 1 else dtype
        for place in places:
            batch.values[place] = batch.values[place].to(dtype)


def _promoted(samples: Sequence[torch.Tensor]) -> torch.dtype:
    with_dims = [each.new_empty(1, device="meta") for each in samples if each.dim()]
    without = [each.new_empty((), device="meta") for each in samples if not each.dim()]
    found = [*with_dims, *without]
    result = found[0]
    for each in found[1:]:
        result = torch.empty((1,) if with_dims else (), dtype=torch.result_type(result, each), device="meta")
    return result.dtype


class Leading:
    """The family of operators on the last dimensions of their operands, before which batches broadcast.

    `operands` are positions, each with the number of dimensions that one operand without a batch has.
    """

    def __init__(self, *operands: tuple[int, int]) -> None:
        self.operands = operands

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: all operands get the batch, and as many dimensions after it as the one with the most."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = _Batch(info, in_dims, args, kwargs, arguments)
            given = [(place, core) for place, core in self.operands if batch.values[place] is not None]
            most = max(batch.rank(place) - core for place, core in given)
            for place, core in given:
                batch.values[place] = batch.expanded(place)
                batch.dims[place] = 0
                batch.values[place] = batch.padded(place, most + core)
            return batch.called(overload)

        return rule


class Along:
    """The family of operators along dimensions, which are counted after the batch.

    `dim`, `new` and `size` are positions: of the dimensions, of one that the result has more, of a size.
    `empty_is_all`: no dimensions are all of them.
    """

    def __init__(
        self,
        *operands: int,
        dim: int | Sequence[int] = (),
        new: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        empty_is_all: bool = False,
    ) -> None:
        self.operands = operands
        self.dims = (dim,) if isinstance(dim, int) else tuple(dim)
        self.new = (new,) if isinstance(new, int) else tuple(new)
        self.sizes = (size,) if isinstance(size, int) else tuple(size)
        self.empty_is_all = empty_is_all

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: operands have the batch first, and dimensions are one more."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = _Batch(info, in_dims, args, kwargs, arguments)
            operands = [place for place in self.operands if isinstance(batch.values[place], torch.Tensor)]
            rank = max(batch.rank(place) for place in operands)
            if rank == 0 or self.sizes:
                return batch.looped(overload)
            for place in operands:
                batch.values[place] = batch.expanded(place)
            for place in self.dims:
                batch.values[place] = self._moved(batch.values[place], rank)
            for place in self.new:
                batch.values[place] = self._moved(batch.values[place], rank + 1)
            return batch.called(overload)

        return rule

    def _moved(self, dim: Any, rank: int) -> Any:
        if dim is None or (self.empty_is_all and isinstance(dim, (list, tuple)) and not dim):
            return list(range(1, rank + 1))
        if isinstance(dim, (list, tuple)):
            return [self._moved(each, rank) for each in dim]
        return dim if dim < 0 else dim + 1


class _Batch:
    """One batched call: all arguments, and the dimension of the batch of each, None for those without."""

    def __init__(self, info: Any, in_dims: Any, args: Any, kwargs: Any, arguments: Arguments) -> None:
        self.size = info.batch_size
        self._arguments = arguments
        self.values = arguments.filled(tuple(args), kwargs)
        self.dims: list[Any] = [*in_dims, *[None] * (len(self.values) - len(in_dims))]

    def rank(self, place: int) -> int:
        """Return the number of dimensions of a sample."""
        return int(self.values[place].dim()) - (self.dims[place] is not None)

    def of(self, places: Sequence[int]) -> list[tuple[torch.Tensor, int | None]]:
        """Return tensors with the dimension of their batch."""
        return [(self.values[place], self.dims[place]) for place in places]

    def expanded(self, place: int) -> torch.Tensor:
        """Return the tensor with its batch first: the same for each sample where it has none."""
        value, dim = self.values[place], self.dims[place]
        found: torch.Tensor = value.expand(self.size, *value.shape) if dim is None else value.movedim(dim, 0)
        return found

    def padded(self, place: int, rank: int) -> torch.Tensor:
        """Return the tensor with its batch first, and sizes of 1 up to `rank` dimensions after that."""
        value = self.values[place].movedim(self.dims[place], 0)
        ones = [1] * (rank - value.dim() + 1)
        found: torch.Tensor = value.reshape(value.shape[:1] + tuple(ones) + value.shape[1:]) if ones else value
        return found

    def called(self, overload: torch._ops.OpOverload) -> tuple[Any, Any]:
        """Return the results of one call, whose first dimension is the batch."""
        result = self._call(overload, self.values)
        if isinstance(result, (tuple, list)):
            return result, type(result)([0] * len(result))
        return result, 0

    def looped(self, overload: torch._ops.OpOverload) -> tuple[Any, Any]:
        """Return the results of a call for each sample, stacked."""
        samples = []
        for index in range(self.size):
            values = [
                value if dim is None else value.select(dim, index)
                for value, dim in zip(self.values, self.dims, strict=True)
            ]
            samples.append(self._call(overload, values))
        if isinstance(samples[0], tuple):
            return tuple([torch.stack(each) for each in zip(*samples, strict=True)]), (0,) * len(samples[0])
        return torch.stack(samples), 0

    def _call(self, overload: torch._ops.OpOverload, values: Sequence[Any]) -> Any:
        positional = len([each for each in overload._schema.arguments if not each.kwarg_only])
        named = dict(zip(self._arguments.names[positional:], values[positional:], strict=True))
        return overload(*values[:positional], **named)
