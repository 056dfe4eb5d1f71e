"""Rules for `torch.vmap` of operators that take batches themselves, before matrices or as the dimension N of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.samples import Batch, Rule

__all__ = ["Folded", "Leading", "Product"]

_LETTERS = "abcdefghijklmnopqrstuvwxy"  # which stand for dimensions; z is the batch


class Leading:
    """The family of operators on the last dimensions of their operands, before which batches broadcast.

    `operands` are positions, each with the number of dimensions that one operand without a batch has.
    """

    def __init__(self, *operands: tuple[int, int]) -> None:
        self.operands = operands

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: all operands get the batch, and as many dimensions after it as the one with the most."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            given = [(position, core) for position, core in self.operands if batch.values[position] is not None]
            most = max(batch.rank(position) - core for position, core in given)
            for position, core in given:
                batch.values[position] = batch.expanded(position)
                batch.dims[position] = 0
                batch.values[position] = batch.padded(position, most + core)
            return batch.called(overload)

        return rule


class Folded:
    """The family of operators on images of `core` dimensions, which may have a dimension N: it takes the batch."""

    def __init__(self, *operands: int, core: int) -> None:
        self.operands = operands
        self.core = core

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: the batch becomes N, or a part of it."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            extra = batch.rank(self.operands[0]) - self.core
            if extra not in (0, 1):
                batch.called_sample(overload)
                return batch.looped(overload)
            sizes: Sequence[int] = ()
            for position in self.operands:
                if batch.values[position] is not None:
                    value = batch.expanded(position)
                    sizes = value.shape[: 1 + extra]
                    batch.values[position] = value.flatten(0, 1) if extra else value
            result, dims = batch.called(overload)
            if not extra:
                return result, dims
            if isinstance(result, (tuple, list)):
                return type(result)([each.unflatten(0, sizes) for each in result]), dims
            return result.unflatten(0, sizes), dims

        return rule


class Product:
    """The family of products of two operands whose dimensions have names, as in `(m,k),(k,n)->(m,n)`.

    A dimension that both operands have and the result has not is summed over. `added`, `beta` and `alpha` are
    positions, of what is added and of the factors. The first operand of `vdot` is conjugated.
    """

    def __init__(
        self, signature: str, first: int, second: int, added: int | None = None, beta: int = -1, alpha: int = -1
    ) -> None:
        inputs, _, output = signature.replace(" ", "").partition("->")
        groups = [group.strip("()").split(",") for group in (*inputs.split("),("), output)]
        letters = dict(zip(dict.fromkeys(name for group in groups for name in group if name), _LETTERS, strict=False))
        self.names = ["".join([letters[name] for name in group if name]) for group in groups]
        self.operands = (first, second)
        self.added = added
        self.factors = (beta, alpha)

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: a product of batches."""
        left, right, result = self.names
        equation = f"z{left},z{right}->z{result}"
        is_conjugated = arguments.operator.base == "vdot"

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            ranks = tuple([batch.rank(position) for position in self.operands])
            dtypes = {batch.values[position].dtype for position in (*self.operands, self.added) if position is not None}
            if ranks != (len(left), len(right)) or len(dtypes) > 1:
                batch.called_sample(overload)  # which raises what is wrong with it
                return batch.looped(overload)
            first, second = (batch.expanded(position) for position in self.operands)
            product = torch.einsum(equation, first.conj() if is_conjugated else first, second)
            return self._sum(batch, product), 0

        return rule

    def _sum(self, batch: Batch, product: torch.Tensor) -> torch.Tensor:
        """Return `beta * added + alpha * product`; without what is added, which may be NaN, where beta is 0."""
        if self.added is None:
            return product
        beta, alpha = (batch.values[position] for position in self.factors)
        product = product if alpha == 1 else product * alpha
        if beta == 0:
            return product
        dim = batch.dims[self.added]
        value = batch.values[self.added] if dim is None else batch.padded(self.added, product.dim() - 1)
        return (value if beta == 1 else value * beta) + product
