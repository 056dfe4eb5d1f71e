"""The plan of a recording kernel, made of the class of its nodes and the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd import saved
from opwright.autograd.fields import Field, NodeType, Way
from opwright.autograd.nodes import Edge, RecordedSeveral
from opwright.autograd.recording import check_no_gradient, edges_of
from opwright.autograd.straight_recorders import Kept

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import TensorArgument

__all__ = ["RecordingPlan", "fill"]

Keep = Callable[[Any], Any] | None
# A slot, what is kept there, of which position (-1 for all arguments), and whether a gradient needs it.
Filling = tuple[str, Keep, int, Callable[[Sequence[Any]], bool] | None]
_OF_RESULTS: Final = (Way.RESULT, Way.OTHER, Way.RESULT_VALUE)
_FACTS: Final[dict[Way, Callable[[Any], Any]]] = {
    Way.SHAPE: attrgetter("shape"),
    Way.NUMEL: methodcaller("numel"),
    Way.STRIDE: methodcaller("stride"),
    Way.STORAGE_OFFSET: methodcaller("storage_offset"),
}


def fill(node: Any, values: Sequence[Any], fillings: Iterable[Filling]) -> None:
    """Set slots of a node from arguments, or from results."""
    for slot, keep, position, is_needed in fillings:
        value = values if position < 0 else values[position]
        if is_needed is not None and not is_needed(values):
            setattr(node, slot, None)
        else:
            setattr(node, slot, value if keep is None else keep(value))


class RecordingPlan:
    """The plan of an operator's recording kernel.

    `own`: the position of what is written in place, -1 for nothing. `may_have_none`: whether the kernel may be called
    where no operand gets a gradient, since another tensor requires grad.
    """

    def __init__(self, node: NodeType, operator: Operator, own: int = -1) -> None:
        signature = operator.signature
        self.node = node
        self.name = operator.base
        self.total = len(signature.names)
        self._names = signature.names
        self.own = own
        self.moves_view = "inplace_view" in operator.tags
        self.tensors = {argument.position: argument for argument in signature.tensors}
        self.may_have_none = not self.tensors.keys() <= {*node.operands, *node.refused}
        self.is_several = issubclass(node, RecordedSeveral)
        self.returns_several = len(signature.returns) > 1
        self._lists = {position for position, text in enumerate(signature.returns) if "[" in text}
        fields = node.fields.items()
        self.of_arguments = [self._filling(slot, field) for slot, field in fields if field.way not in _OF_RESULTS]
        self.of_results = [self._filling(slot, field) for slot, field in fields if field.way in _OF_RESULTS]

    # -- saved values

    def _filling(self, slot: str, field: Field) -> Filling:
        if field.way is Way.COUNTS:
            return slot, self._counts, -1, None
        return slot, self._keep(field), field.position, self._needed(field.needed_by)

    def _keep(self, field: Field) -> Keep:
        """Return a function that makes the saved value of an argument, None if it is the argument itself."""
        way, position, _, compute = field
        if way is Way.RESULT_VALUE:
            return compute
        if way in _OF_RESULTS:
            return self._keep_result(way, position)
        if way is Way.ARGUMENT:
            return None
        argument = self.tensors[position]
        fact = compute or _FACTS.get(way)
        if fact is not None:
            return _if_given(fact) if argument.is_optional and not argument.is_list else fact
        if argument.is_list:
            return saved.save_all
        if position == self.own:
            return saved.save_original
        return saved.save_optional if argument.is_optional else saved.save

    def _keep_result(self, way: Way, position: int) -> Callable[[Any], Any]:
        is_list = position in self._lists
        if way is Way.OTHER:
            return saved.save_all if is_list else saved.save
        if is_list:
            return saved.save_results
        number = self.node.results.index(position) if self.node.results else 0
        return _result_saver(number) if number else saved.save_result

    def _counts(self, args: Sequence[Any]) -> tuple[int | None, ...]:
        return tuple([len(args[at] or ()) if self.tensors[at].is_list else None for at in self.node.operands])

    def _needed(self, operands: tuple[int, ...]) -> Callable[[Sequence[Any]], bool] | None:
        """Return whether one of the operands gets a gradient, as a function of all arguments; None for no operands."""
        if any(self.tensors[position].is_list for position in operands):
            return lambda args: any(edge is not None for at in operands for edge in _edges(self.tensors[at], args[at]))

        def is_needed(args: Sequence[Any]) -> bool:
            for position in operands:
                value = args[position]
                if value is not None and value.edge is not None:
                    return True
            return False

        return is_needed if operands else None

    # -- where gradients flow

    def edges(self) -> Callable[[Sequence[Any]], tuple[Edge, ...]]:
        """Return the function that finds the edges of the operands among arguments."""
        operands = self.node.operands
        kinds = [self.tensors[position] for position in operands]
        is_plain = not any(any(kind[1:]) for kind in kinds)
        match operands:
            case (first,) if is_plain:
                return lambda args: (args[first].edge,)
            case (first, second) if is_plain:
                return lambda args: (args[first].edge, args[second].edge)
            case (first, second, third) if is_plain:
                return lambda args: (args[first].edge, args[second].edge, args[third].edge)
            case (first,) if not kinds[0].is_optional:  # a list
                return lambda args: edges_of(args[first])
        if not any(kind.is_list for kind in kinds):
            return lambda args: edges_of([args[position] for position in operands])
        return lambda args: tuple([edge for kind in kinds for edge in _edges(kind, args[kind.position])])

    def left_out(self) -> Callable[[Sequence[Any], Sequence[Edge]], bool] | None:
        """Return the function that says, of arguments and their edges, whether a call is not recorded; None where all
        are. It raises NotImplementedError for a tensor that may require no grad, and does."""
        name, holds, may_have_none = self.name, self.node.is_recorded, self.may_have_none
        refused = [(position, self._names[position]) for position in self.node.refused]
        if not refused and not may_have_none and holds is None:
            return None

        def is_left_out(args: Sequence[Any], edges: Sequence[Edge]) -> bool:
            for position, argument in refused:
                check_no_gradient(name, argument, args[position])
            return (may_have_none and edges.count(None) == len(edges)) or (holds is not None and not holds(*args))

        return is_left_out

    # -- other ways to do it

    def common(self) -> Kept | None:
        """Return what is kept by calls of a common kind: of single tensors, with one result, and nothing to ask."""
        node = self.node
        single = not any(any(self.tensors[position][1:]) for position in node.operands) and self.own <= 0
        if not single or node.refused or node.results or self.may_have_none or self.is_several or self.moves_view:
            return None
        fields = list(node.fields.values())
        kept = {field.position: field for field in fields if field.way <= Way.SAVED}
        crossed = {at: field.needed_by for at, field in kept.items()} == {0: (1,), 1: (0,)}
        fact = Way.STRIDE if crossed else Way.SHAPE
        facts = {field.position for field in fields if field.way is fact}
        results = [field for field in fields if field.way is Way.RESULT]
        is_known = (
            len(kept) + len(facts) + len(results) == len(fields)
            and node.is_recorded is None
            and facts <= ({0, 1} if crossed else {0} if len(node.operands) == 1 else set())
            and (crossed or not any(field.needed_by for field in kept.values()))
            and all(kept[position].way is Way.SAVED for position in node.operands if position in kept)
        )
        if not is_known:
            return None
        arguments = tuple([position in kept for position in range(self.total)])
        return Kept(node, arguments, (0 in facts, 1 in facts), bool(results), crossed)

    def savings(self, most: int) -> tuple[tuple[str, int, int, int], ...] | None:
        """Return what the compiled core is told of fields: slot, how, position and the bits of those who need it; None
        where only Python keeps some of it."""
        node = self.node
        of_results = {field.position for field in node.fields.values() if field.way in _OF_RESULTS}
        lists = {position for position, argument in self.tensors.items() if argument.is_list}
        if self.is_several or node.is_recorded or lists & {*node.operands, *node.refused} or self._lists & of_results:
            return None
        if len(node.fields) > most or not all(self._is_compiled(field) for field in node.fields.values()):
            return None
        return tuple(
            [
                (slot, int(way), position, sum(1 << each for each in needed_by))
                for slot, (way, position, needed_by, _) in node.fields.items()
            ]
        )

    def _is_compiled(self, field: Field) -> bool:
        """Whether the compiled core can save a field."""
        if field.way in (Way.ARGUMENT, Way.RESULT, Way.OTHER):
            return True
        if field.way > Way.STRIDE:
            return False
        argument = self.tensors[field.position]
        return not argument.is_list and (field.way is Way.SAVED or not argument.is_optional)


def _edges(kind: TensorArgument, value: Any) -> tuple[Edge, ...]:
    return edges_of((value or ()) if kind.is_list else (value,))


def _if_given(fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else fact(value)


def _result_saver(number: int) -> Callable[[Any], Any]:
    return lambda result: saved.save_result(result, number)
