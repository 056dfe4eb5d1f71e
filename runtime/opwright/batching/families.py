"""The family of elementwise operators. A family is told which arguments play which part, and makes a rule of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opwright.batching.loop import unbatched_write
from opwright.batching.results import batched_results
from opwright.batching.samples import refuse_as_sample
from opwright.batching.tables import BatchRule
from opwright.dimensions import families
from opwright.levels.inside import InsideArray
from opwright.levels.interpreter import Handler
from opwright.namespaces import aten
from opwright_core.arrays.promotion import result_type
from opwright_core.dispatch.call.lookup import find1, find2
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Elementwise", "aligned"]


class Elementwise(families.Elementwise):
    """The family of operators whose operands broadcast with each other."""

    __slots__ = ()

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

        return rule

    def handler_for(self, operator: Operator) -> Handler | None:
        """Return what handles the calls of most elementwise operators, with less around it than a rule has."""
        tensors = tuple([each.position for each in operator.signature.tensors])
        if operator.signature.returns != ("Tensor",) or self.onto_first:
            return None
        if tensors != self.operands or self.promoted != self.operands:
            return None
        if operator.signature.written:
            return _inplace_handler(operator, self.rule_of(operator)) if len(tensors) <= 2 else None
        return {(0,): _unary_handler, (0, 1): _binary_handler}.get(tensors, _none)(operator, self.rule_of(operator))

    def _inplace_rule(self, operator: Operator) -> BatchRule:
        operands, call = self.operands, operator.call

        def rule(level: Batching, *args: Any) -> Any:
            if not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            own = level.rank(args[0])
            if any(isinstance(args[position], Tensor) and level.rank(args[position]) > own for position in operands):
                refuse_as_sample(level, operator, args)
            call(*aligned(level, args, operands, self.promoted, keeps=0))
            return args[0]

        return rule


def _none(operator: Operator, rule: BatchRule) -> None:
    return None


def _unary_handler(operator: Operator, rule: BatchRule) -> Handler:
    def unary(level: Batching, first: Any, *rest: Any) -> Any:
        array = first.array
        if type(array) is not InsideArray or array.level is not level:
            return operator.call(first, *rest)
        value = array.value if array.dim == 0 else level.front(first)
        kernel = operator.table.get(value.keys) if active_modes() is None else None
        return level.put((kernel or find1(operator, value))(value, *rest), 0)

    return unary


def _binary_handler(operator: Operator, rule: BatchRule) -> Handler:
    def binary(level: Batching, first: Any, second: Any, *rest: Any) -> Any:
        array, another = first.array, second.array
        is_front = type(array) is InsideArray and array.level is level and array.dim == 0
        one = array.value if is_front else level.front(first)
        is_front = type(another) is InsideArray and another.level is level and another.dim == 0
        other = another.value if is_front else level.front(second)
        if one is None and other is None:
            return operator.call(first, second, *rest)
        if not _is_aligned(one, other, first, second):
            return rule(level, first, second, *rest)
        one, other = first if one is None else one, second if other is None else other
        kernel = operator.table.get(one.keys | other.keys) if active_modes() is None else None
        return level.put((kernel or find2(operator, one, other))(one, other, *rest), 0)

    return binary


def _inplace_handler(operator: Operator, rule: BatchRule) -> Handler:
    is_unary = len(operator.signature.tensors) == 1

    def inplace(level: Batching, first: Any, *rest: Any) -> Any:
        one = level.front(first)
        if is_unary and one is not None:
            find1(operator, one)(one, *rest)
            return first
        if not is_unary:
            other = level.front(rest[0])
            if one is None and other is None:
                return operator.call(first, *rest)
            if one is not None and other is not None and _is_aligned(one, other, first, rest[0]):
                find2(operator, one, other)(one, other, *rest[1:])
                return first
        return operator.call(first, *rest) if is_unary else rule(level, first, *rest)

    return inplace


def _is_aligned(one: Any, other: Any, first: Any, second: Any) -> bool:
    """Whether values, None for operands without a batch, broadcast and are promoted as the samples are."""
    if one is not None and other is not None:
        same: bool = one.ndim == other.ndim
        return same
    batched, single = (one, second) if other is None else (other, first)
    rank: int = batched.ndim - 1
    return single.ndim <= rank and rank > 0


def aligned(
    level: Batching, args: Sequence[Any], operands: Sequence[int], promoted: Sequence[int], *, keeps: int = -1
) -> list[Any]:
    """Return the arguments with the values of operands, which broadcast as the samples do, in their positions.

    Those of the `promoted` are cast where batches would be promoted to another dtype than samples, but for the one that
    `keeps` names.
    """
    found = list(args)
    batched = []
    most = -1
    for position in operands:
        operand = found[position]
        if not isinstance(operand, Tensor):
            continue
        value = level.front(operand)
        if value is None:
            rank = operand.ndim
        else:
            found[position] = value
            rank = value.ndim - 1
            batched.append((position, rank))
        most = max(most, rank)
    if any(rank == 0 for _, rank in batched) and (most or len(batched) < len(operands)):
        _promote(args, found, [position for position in promoted if isinstance(args[position], Tensor)], keeps)
    for position, rank in batched:
        if rank < most:
            value = found[position]
            sizes = [level.size, *[1] * (most - rank), *value.shape[1:]]
            found[position] = aten["reshape.default"](value, sizes)
    return found


def _promote(args: Sequence[Any], found: list[Any], tensors: Sequence[int], keeps: int) -> None:
    """Cast operands to the dtype that the samples are promoted to: a sample without dimensions gives way to one with
    some, and batches of both have dimensions."""
    if len({found[position].dtype for position in tensors}) < 2:
        return
    wanted = result_type(*[args[position].array for position in tensors])
    for position in tensors:
        if position != keeps:
            found[position] = aten["to.dtype"](found[position], wanted)
