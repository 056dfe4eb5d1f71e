"""The family of elementwise operators. A family is told which arguments play which part, and makes a rule of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opwright.arrays.promotion import result_type
from opwright.batching.batching import Batching
from opwright.batching.loop import unbatched_write
from opwright.batching.results import batched_results
from opwright.batching.samples import refuse_as_sample
from opwright.batching.tables import BatchRule
from opwright.dispatch.aten import aten
from opwright.dispatch.lookup import find1, find2
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Elementwise", "aligned"]


class Elementwise:
    """The family of operators whose operands, at these positions, broadcast with each other.

    `promotes`: the result's dtype is the one that operands are promoted to; else it is the first one's own.
    """

    __slots__ = ("operands", "promotes")

    def __init__(self, *operands: int, promotes: bool = True) -> None:
        self.operands = operands
        self.promotes = promotes

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: sizes of 1 are put behind the batch dimension, so that samples broadcast as they would."""
        operands, promotes, call = self.operands, self.promotes, operator.call
        if 0 in operator.signature.written:
            return self._inplace_rule(operator)

        def rule(level: Batching, *args: Any) -> Any:
            return batched_results(level, operator, call(*aligned(level, args, operands, promotes)))

        if operator.signature.returns != ("Tensor",):
            return rule
        if operands == (0,):

            def unary(level: Batching, first: Any, *rest: Any) -> Any:
                value = level.front(first)
                return level.put(find1(operator, value)(value, *rest), 0)

            return unary
        if operands == (0, 1):

            def binary(level: Batching, first: Any, second: Any, *rest: Any) -> Any:
                one, other = level.front(first), level.front(second)
                if one is None or other is None or len(one.array.shape) != len(other.array.shape):
                    return rule(level, first, second, *rest)
                return level.put(find2(operator, one, other)(one, other, *rest), 0)

            return binary
        return rule

    def _inplace_rule(self, operator: Operator) -> BatchRule:
        operands, promotes, call = self.operands, self.promotes, operator.call

        def rule(level: Batching, *args: Any) -> Any:
            if not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            own = level.rank(args[0])
            if any(type(args[place]) is Tensor and level.rank(args[place]) > own for place in operands):
                refuse_as_sample(level, operator, args)
            call(*aligned(level, args, operands, promotes, is_inplace=True))
            return args[0]

        return rule


def aligned(
    level: Batching,
    args: Sequence[Any],
    operands: Sequence[int],
    promotes: bool = True,
    *,
    is_inplace: bool = False,
) -> list[Any]:
    """Return the arguments with the values of operands, which broadcast as the samples do, in their places."""
    found = list(args)
    batched = []
    most = -1
    for place in operands:
        operand = found[place]
        if not isinstance(operand, Tensor):
            continue
        value = level.front(operand)
        if value is None:
            rank = operand.ndim
        else:
            found[place] = value
            rank = value.ndim - 1
            batched.append((place, rank))
        most = max(most, rank)
    if promotes and any(rank == 0 for _, rank in batched) and (most or len(batched) < len(operands)):
        _promote(level, args, found, operands[1:] if is_inplace else operands, operands)
    for place, rank in batched:
        if rank < most:
            value = found[place]
            sizes = [level.size, *[1] * (most - rank), *value.shape[1:]]
            found[place] = aten["reshape.default"](value, sizes)
    return found


def _promote(
    level: Batching, args: Sequence[Any], found: list[Any], casts: Sequence[int], operands: Sequence[int]
) -> None:
    """Cast operands to the dtype that the samples are promoted to, where batches would be promoted to another: a sample
    without dimensions gives way to one with some."""
    tensors = [place for place in operands if isinstance(found[place], Tensor)]
    if len({found[place].dtype for place in tensors}) < 2:
        return
    wanted = result_type(*[args[place].array for place in tensors])
    for place in casts:
        if place in tensors:
            found[place] = aten["to.dtype"](found[place], wanted)
