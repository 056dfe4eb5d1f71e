"""Rules that many operators share. Each class is a family: it is told which arguments play which part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.arrays.promotion import result_type
from opwright.batching.batching import Batching
from opwright.batching.loop import unbatched_write
from opwright.batching.tables import BatchRule
from opwright.dispatch.aten import aten
from opwright.dispatch.lookup import find1, find2

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Elementwise"]

_WHOLE: Final = slice(None)


class Elementwise:
    """The family of operators whose operands, at these positions, broadcast with each other."""

    __slots__ = ("operands",)

    def __init__(self, *operands: int) -> None:
        self.operands = operands

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: sizes of 1 are put behind the batch dimension, so that samples broadcast as they would."""
        operands, call = self.operands, operator.call
        if 0 in operator.signature.written:
            return self._inplace_rule(operator)

        def rule(level: Batching, *args: Any) -> Any:
            return level.batched(call(*aligned(level, args, operands)))

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
        operands, call = self.operands, operator.call

        def rule(level: Batching, *args: Any) -> Any:
            if not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            call(*aligned(level, args, operands))
            return args[0]

        return rule


def aligned(level: Batching, args: Sequence[Any], operands: Sequence[int]) -> list[Any]:
    """Return the arguments with the values of operands, which broadcast as the samples do, in their places."""
    found = list(args)
    batched = []
    most = -1
    for place in operands:
        operand = found[place]
        if operand is None:
            continue
        value = level.front(operand)
        if value is None:
            rank = operand.ndim
        else:
            found[place] = value
            rank = value.ndim - 1
            batched.append((place, rank))
        most = max(most, rank)
    if any(rank == 0 for _, rank in batched) and (most or len(batched) < len(operands)):
        _promote(level, args, found, operands)
    for place, rank in batched:
        if rank < most:
            value = found[place]
            found[place] = aten["view.default"](value, [level.size, *[1] * (most - rank), *value.shape[1:]])
    return found


def _promote(level: Batching, args: Sequence[Any], found: list[Any], operands: Sequence[int]) -> None:
    """Cast operands to the dtype that the samples are promoted to, where batches would be promoted to another: a sample
    without dimensions gives way to one with some."""
    tensors = [place for place in operands if found[place] is not None]
    if len({found[place].dtype for place in tensors}) < 2:
        return
    wanted = result_type(*[args[place].array for place in tensors])
    for place in tensors:
        found[place] = aten["to.dtype"](found[place], wanted)
