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

    Of those in `promoted` dtypes are promoted together. `onto_first`: the others broadcast to the first one's shape.
    """

    __slots__ = ("onto_first", "operands", "promoted")

    def __init__(self, *operands: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        self.operands = operands
        self.promoted = () if onto_first else tuple([each for each in operands if each not in masks])
        self.onto_first = onto_first

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: sizes of 1 are put behind the batch dimension, so that samples broadcast as they would."""
        operands, promoted, call = self.operands, self.promoted, operator.call
        if 0 in operator.signature.written:
            return self._inplace_rule(operator)

        def rule(level: Batching, *args: Any) -> Any:
            found = aligned(level, args, operands, promoted)
            if self.onto_first:
                found[operands[0]] = level.expanded(args[operands[0]])
            return batched_results(level, operator, call(*found))

        if operator.signature.returns != ("Tensor",) or self.onto_first:
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
            own = level.rank(args[0])
            if any(isinstance(args[place], Tensor) and level.rank(args[place]) > own for place in operands):
                refuse_as_sample(level, operator, args)
            call(*aligned(level, args, operands, self.promoted, keeps=0))
            return args[0]

        return rule


def aligned(
    level: Batching, args: Sequence[Any], operands: Sequence[int], promoted: Sequence[int], *, keeps: int = -1
) -> list[Any]:
    """Return the arguments with the values of operands, which broadcast as the samples do, in their places.

    Those of the `promoted` are cast where batches would be promoted to another dtype than samples, but for the one that
    `keeps` names.
    """
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
    if any(rank == 0 for _, rank in batched) and (most or len(batched) < len(operands)):
        _promote(args, found, [place for place in promoted if isinstance(args[place], Tensor)], keeps)
    for place, rank in batched:
        if rank < most:
            value = found[place]
            sizes = [level.size, *[1] * (most - rank), *value.shape[1:]]
            found[place] = aten["reshape.default"](value, sizes)
    return found


def _promote(args: Sequence[Any], found: list[Any], tensors: Sequence[int], keeps: int) -> None:
    """Cast operands to the dtype that the samples are promoted to: a sample without dimensions gives way to one with
    some, and batches of both have dimensions."""
    if len({found[place].dtype for place in tensors}) < 2:
        return
    wanted = result_type(*[args[place].array for place in tensors])
    for place in tensors:
        if place != keeps:
            found[place] = aten["to.dtype"](found[place], wanted)
