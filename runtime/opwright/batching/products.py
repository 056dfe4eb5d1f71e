"""Families of operators that compute a product of matrices or vectors, or reduce what they compute elementwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from opwright.batching.families import aligned
from opwright.batching.loop import unbatched_write
from opwright.batching.samples import call_sample
from opwright.batching.tables import BatchRule
from opwright.dimensions import families
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import INEXACT

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Product", "Reducing"]


class Product(families.Product):
    """The family of products of two operands whose dimensions have names. The first operand of `vdot` is conjugated."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: a product of batches of matrices."""
        left, right, names = self.left, self.right, self.kept
        is_inplace = 0 in operator.signature.written
        operands = [position for position in (self.added, self.first, self.second) if position is not None]
        is_conjugated = operator.base == "vdot"

        def rule(level: Batching, *args: Any) -> Any:
            one, other = args[self.first], args[self.second]
            is_wrong = level.rank(one) != len(left) or level.rank(other) != len(right)
            dtypes = {args[position].dtype for position in operands}
            if is_wrong or len(dtypes) > 1 or (self.added is not None and one.dtype not in INEXACT):
                call_sample(level, operator, args)  # which raises what is wrong with it
            if is_inplace and not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            first, second = level.expanded(one), level.expanded(other)
            if is_conjugated:
                first = first.conj()
            found = _product(first, second, left, right, names)
            if self.added is not None:
                found = _sum(level, args[self.added], found, args[self.beta], args[self.alpha])
            if is_inplace:
                aten["copy_.default"](level.front(args[0]), found)
                return args[0]
            return level.put(found, 0)

        return rule


def _product(first: Any, second: Any, left: list[str], right: list[str], names: list[str]) -> Any:
    """Return the products of two batches, by one product of batches of matrices."""
    batch = [name for name in left if name in right and name in names]
    summed = [name for name in left if name in right and name not in names]
    rows = [name for name in left if name not in right]
    columns = [name for name in right if name not in left]
    one = _arranged(first, left, batch, rows, summed)
    other = _arranged(second, right, batch, summed, columns)
    found = aten["bmm.default"](one, other)
    sizes = dict(zip(left, first.shape[1:], strict=True)) | dict(zip(right, second.shape[1:], strict=True))
    shape = [first.shape[0], *[sizes[name] for name in names]]
    return found if len(shape) == 3 else aten["view.default"](found, shape)


def _arranged(value: Any, names: list[str], batch: list[str], rows: list[str], columns: list[str]) -> Any:
    """Return a value as batches of matrices whose rows and columns are these dimensions."""
    order = [0, *[names.index(name) + 1 for name in (*batch, *rows, *columns)]]
    if order != sorted(order):
        value = aten["permute.default"](value, order)
    sizes = value.shape
    if len(rows) == 1 == len(columns) and not batch:
        return value
    split = 1 + len(batch)
    middle = split + len(rows)
    shape = [math.prod(sizes[:split]), math.prod(sizes[split:middle]), math.prod(sizes[middle:])]
    return aten["reshape.default"](value, shape)


def _sum(level: Batching, added: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """Return `beta * added + alpha * product`; without `added`, which may be NaN, where beta is 0."""
    if alpha != 1:
        product = aten["mul.Scalar"](product, alpha)
    rank = product.ndim - 1
    value = level.front(added)
    if value is None:
        value = added
    elif value.ndim - 1 < rank:
        value = aten["reshape.default"](value, [level.size, *[1] * (rank + 1 - value.ndim), *value.shape[1:]])
    if beta == 0:
        return product
    return aten["add.Tensor"](value if beta == 1 else aten["mul.Scalar"](value, beta), product)


class Reducing(families.Reducing):
    """The family of losses: elementwise, and then reduced."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: the elementwise loss of all samples, reduced for each."""
        position = self.reduction

        def rule(level: Batching, *args: Any) -> Any:
            found = aligned(level, args, self.operands, self.operands)
            found[position] = 0
            if self.onto_first:
                found[self.operands[0]] = level.expanded(args[self.operands[0]])
            losses = operator.call(*found)
            if args[position] and losses.ndim > 1:
                by = "mean.dim" if args[position] == 1 else "sum.dim_IntList"
                losses = aten[by](losses, list(range(1, losses.ndim)))
            return level.put(losses, 0)

        return rule
