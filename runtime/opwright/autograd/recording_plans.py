"""The plan of a recording kernel, made of the class of its nodes and the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd import saved
from opwright.autograd.fields import Field, NodeType, Way
from opwright.autograd.nodes import Edge, RecordedSeveral
from opwright.autograd.recording import check_no_gradient, edges_of

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

    # -- letters of arguments

    def letters(self) -> tuple[list[str], str, dict[str, Any]]:
        """Return the letters of the arguments for the definitions in `recorders`, flags, and free variables.

        T is an operand, O one that may be None, L a list of them, E a list that is the only operand; w is written. An
        argument is kept (k) or saved (s; 0, 1 or 2 where the operand there needs it), and so is its shape (h), its
        strides (d) or another fact (f). `of_arguments` and `of_results` are all other fields.
        """
        found = ["w" if at == self.own else "" for at in range(self.total)]
        for at in self.node.operands:
            found[at] += "L" if self.tensors[at].is_list else "O" if self.tensors[at].is_optional else "T"
        match [self.tensors[at] for at in self.node.operands]:
            case [one] if one.is_list and not one.is_optional:
                found[one.position] = "E"
        flags = "" if "E" in found else "S"
        free: dict[str, Any] = {"of_arguments": [], "of_results": []}
        for slot, field in self.node.fields.items():
            if field.way in _OF_RESULTS:
                if field.way is Way.RESULT and field.position == 0 and not self.returns_several and not self._lists:
                    flags += "R"
                else:
                    free["of_results"].append(self._filling(slot, field))
            elif letter := self._letter(slot, field, found):
                found[field.position] += letter
                if letter not in "khd":
                    free[f"{'fact' if letter == 'f' else 'save'}{field.position}"] = self._keep(field)
            else:
                free["of_arguments"].append(self._filling(slot, field))
        flags += ("A" if free["of_arguments"] else "") + ("V" if free["of_results"] else "")
        return found, flags, free

    def _letter(self, slot: str, field: Field, found: Sequence[str]) -> str:
        """Return the letter of a field of an argument; none where there is none for it, or the second name of its slot
        is that of another."""
        way, position, needed_by, _ = field
        slots = vars(self.node)
        if way is Way.COUNTS or slots[slot] is not slots[f"{'_kept' if way <= Way.SAVED else '_fact'}{position}"]:
            return ""
        if way is Way.ARGUMENT:
            return "k"
        if way is Way.SAVED:
            is_known = len(needed_by) == 1 and needed_by[0] < 3 and "T" in found[needed_by[0]]
            return "s" if not needed_by else str(needed_by[0]) if is_known else ""
        argument = self.tensors[position]
        if argument.is_optional or argument.is_list:
            return "f"
        return {Way.SHAPE: "h", Way.STRIDE: "d"}.get(way, "f")

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

    # -- the compiled core

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
