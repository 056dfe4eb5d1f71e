"""The forward layer: a call on tensors with tangents, and the tangents of its results.

Composed outside of what records for a backward pass, for calls with TANGENT (`dispatch.registry.compose`). What is
below and the formulas run without looking at tangents; both are recorded, so that tangents can be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from opwright.autograd.modes import is_grad_enabled
from opwright.autograd.nodes import Node, node_of, number_of
from opwright.autograd.saved import note_tangent
from opwright.autograd.tangents import (
    Level,
    Tangent,
    current_cell,
    current_tangent,
    ignoring_tangents,
    may_have_tangent,
    new_tangent,
    set_tangent,
    view_tangent,
    write_tangent,
)
from opwright.autograd.views import WriteToView
from opwright.namespaces import aten
from opwright.pytree import tensors_of
from opwright_core.arrays.storage import Extra, PlainStorage, storage_of
from opwright_core.dispatch.call.signature import Signature
from opwright_core.dispatch.registry.forward_rules import RULES, ForwardRule, TangentFormula
from opwright_core.errors import AutogradError, DispatchError
from opwright_core.keys import TANGENT, VIEW
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["differentiating", "or_zeros", "sum_terms"]

Kernel = Callable[..., Any]
_Tangents = Mapping[int, Any]  # by position: a Tensor, or a list of Tensors and None


def differentiating(operator: Operator, below: Kernel) -> Kernel:
    """Return a kernel for calls in which tensors may have tangents; `below` was composed without TANGENT."""
    layer = _Layer(operator, below)
    signature = operator.signature

    def call(*args: Any) -> Any:
        cells = _cells(signature, args)
        if not cells:
            return below(*args)
        with ignoring_tangents():
            return layer.call(args, cells)

    return call


def _cells(signature: Signature, args: Sequence[Any]) -> dict[int, Any]:
    """Return the cells of the arguments that have a tangent, by position."""
    found: dict[int, Any] = {}
    for position, is_list, *_ in signature.tensors:
        value = args[position]
        if value is None:
            continue
        if is_list:
            cells = [None if item is None else current_cell(item) for item in value]
            if any(cell is not None for cell in cells):
                found[position] = cells
        elif (cell := current_cell(value)) is not None:
            found[position] = cell
    return found


class _Layer:
    """One operator's layer over one chain."""

    __slots__ = ("below", "operator", "rule", "signature")

    def __init__(self, operator: Operator, below: Kernel) -> None:
        self.operator = operator
        self.below = below
        self.signature = operator.signature
        self.rule = RULES.find(operator.name)

    def call(self, args: tuple[Any, ...], cells: Mapping[int, Any]) -> Any:
        """Call what is below, and give the results their tangents."""
        self._refuse_out(cells)
        rule = self.rule
        if rule is None:
            return self._without_rule(args, cells)
        for position in cells:
            if position not in rule.inputs and position not in rule.ignored:
                self._refuse(position, f"no forward formula for its argument {self._name(position)}, which")
        tangents, level = _values(cells, args, rule.inputs)
        if 0 in self.signature.written and 0 in self.signature.aliases:
            return self._inplace(rule, args, tangents, level)
        result = self.below(*args)
        if tangents:
            taken = tuple(tensors_of(tangents.values()))
            for output, value in self._computed(rule, args, tangents, result):
                _give(output, value, level, taken)
        return result

    def _refuse_out(self, cells: Mapping[int, Any]) -> None:
        signature = self.signature
        if any(position >= signature.positional for position in signature.written):
            named = next(iter(cells))
            raise DispatchError(
                f"{self.operator.name}(): functions with out=... arguments have no forward mode, and argument "
                f"{self._name(named)} has a tangent. Call the function without out=, or pass {self._plain(named)}"
            )

    def _without_rule(self, args: tuple[Any, ...], cells: Mapping[int, Any]) -> Any:
        """Handle a call that no formula is about: an error, unless no result could have a tangent."""
        first = next(iter(cells))
        if any(may_have_tangent(each) for position in self.signature.written for each in tensors_of([args[position]])):
            self._refuse(first)
        result = self.below(*args)
        if any(may_have_tangent(each) for each in tensors_of([result])):
            self._refuse(first)
        return result

    def _refuse(self, position: int, what: str = "") -> NoReturn:
        what = what or f"no forward formula, and its argument {self._name(position)}"
        raise DispatchError(
            f"{self.operator.name}() has {what} has a tangent: its results would lose it. Declare the operator with a "
            "'result:' line in derivatives.yaml (a custom one: register_autograd(..., jvp=...)), call it in the "
            f"forward of an autograd.Function with a jvp, or pass {self._plain(position)} if the tangent is not wanted"
        )

    def _name(self, position: int) -> str:
        return f"'{self.signature.names[position]}' (position {position})"

    def _plain(self, position: int) -> str:
        return f"{self.signature.names[position]}.detach()"

    def _computed(
        self, rule: ForwardRule, args: Sequence[Any], tangents: _Tangents, result: Any
    ) -> list[tuple[Any, Any]]:
        """Return the results that formulas are about, and what these give for them."""
        results = result if isinstance(result, tuple) else (result,)
        found: list[tuple[Any, Any]] = []
        for formula in rule.formulas:
            if not any(
                may_have_tangent(each) for position in formula.outputs for each in tensors_of([results[position]])
            ):
                continue
            value = _compute(formula, args, tangents, results)
            values = value if len(formula.outputs) > 1 else (value,)
            found += [(results[position], each) for position, each in zip(formula.outputs, values, strict=True)]
        return found

    def _inplace(self, rule: ForwardRule, args: tuple[Any, ...], tangents: _Tangents, level: Level) -> Any:
        """Handle a call that writes to its first argument: the formulas see that as it was."""
        if args[0].extra is not None and isinstance(args[0].extra.storage, PlainStorage):
            raise AutogradError(
                f"{self.operator.name}() would write a result with a tangent into a plain array, which cannot keep it; "
                "pass a Tensor, or detach() what has the tangent"
            )
        before, layout = args, _layout_of(args[0])
        if any(0 in formula.arguments for formula in rule.formulas):
            before = (aten["clone.default"](args[0]), *args[1:])
        if 0 in tangents and is_grad_enabled():  # the formula may save it, and it will be written
            tangents = {**tangents, 0: aten["clone.default"](tangents[0])}
        result = self.below(*args)
        if not may_have_tangent(args[0]):
            return result
        if _layout_of(args[0]) != layout and (tangent := current_tangent(args[0])) is not None:
            view_tangent(args[0], tangent, layout[-1], level)
        elif not tangents:
            write_tangent(args[0], None, level)
            return result
        else:
            taken = tuple(tensors_of(tangents.values()))
            for output, value in self._computed(rule, before, tangents, result):
                write_tangent(output, value, level, taken)
        if (node := _writer_of(args[0])) is not None:
            note_tangent(args[0], node, 0)
        return result


def _layout_of(tensor: Tensor) -> tuple[Any, Any, int]:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _writer_of(tensor: Tensor) -> Node | None:
    """Return the node of the call that last wrote to a tensor; of a view, its base has it."""
    base = None if tensor.extra is None else tensor.extra.base
    edge = tensor.edge if base is None else base.edge
    if edge is None:
        return None
    node = node_of(edge)
    return node.fn if isinstance(node, WriteToView) else node


def _values(cells: Mapping[int, Any], args: Sequence[Any], inputs: Sequence[int]) -> tuple[dict[int, Any], Level]:
    """Return the tangents that formulas are about, and the level they are of. Those missing in a list are zeros."""
    found: dict[int, Any] = {}
    level = None
    for position, cell in cells.items():
        items = cell if isinstance(cell, list) else [cell]
        level = level or next(item.level for item in items if item is not None)
        if position not in inputs:
            continue
        found[position] = _items(cell, args[position]) if isinstance(cell, list) else cell.value
    assert level is not None  # there is a cell
    return found, level


def _items(cells: Sequence[Tangent | None], values: Sequence[Tensor | None]) -> list[Tensor | None]:
    return [
        (None if value is None else aten["zeros_like.default"](value)) if cell is None else cell.value
        for cell, value in zip(cells, values, strict=True)
    ]


def _compute(formula: TangentFormula, args: Sequence[Any], tangents: _Tangents, results: Sequence[Any]) -> Any:
    given = [tangents.get(position) for position in formula.tangents]
    if formula.tangents and all(value is None for value in given):
        return (None,) * len(formula.outputs) if len(formula.outputs) > 1 else None
    return formula.compute(
        *[_primals(args[position]) for position in formula.arguments],
        *given,
        *[_primals(results[position]) for position in formula.results],
    )


def _primals(value: Any) -> Any:
    """Return a value as formulas see it: tensors without tangents, which saved ones would bring into a backward."""
    if isinstance(value, Tensor):
        return _primal(value)
    return [_primals(item) for item in value] if isinstance(value, list) else value


def _primal(tensor: Tensor) -> Tensor:
    """Return the same tensor, at the same position of the graph, without a tangent."""
    if type(tensor) is not Tensor or not (tensor.keys & TANGENT or tensor.edge is not None):
        return tensor
    made = new_tensor()
    made.array = tensor.array
    made.keys = tensor.keys & ~(TANGENT | VIEW)
    made.edge = tensor.edge
    made.extra = Extra(storage_of(tensor))
    return made


def _give(output: Any, value: Any, level: Level, taken: tuple[Tensor, ...]) -> None:
    """Give a new result, or each of a list of them, its tangent."""
    if isinstance(output, list):
        for item, each in zip(output, value or (), strict=True):
            _give(item, each, level, taken)
    elif output is not None and value is not None and may_have_tangent(output):
        is_view = output._base is not None and value._base is not None and value.stride() == output.stride()
        set_tangent(output, value if is_view else new_tangent(value, output, taken), level)
        if output.edge is not None:
            note_tangent(output, node_of(output.edge), number_of(output.edge))


# -- what generated formulas call


def or_zeros(tangent: Any, value: Any) -> Any:
    """Return a tangent; zeros like its tensor where there is none. None for an optional tensor that was not given."""
    return aten["zeros_like.default"](value) if tangent is None and value is not None else tangent


def sum_terms(*terms: Any) -> Any:
    """Return the sum of the terms that are not None, which stands for zero."""
    found = None
    for term in terms:
        if term is not None:
            found = term if found is None else found + term
    return found
