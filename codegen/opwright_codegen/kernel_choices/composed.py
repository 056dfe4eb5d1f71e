"""Families of operators that are composed of others: these are all elementwise, or one of them does all there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Subscript,
    Unary,
    children,
)
from opwright_codegen.kernel_choices.bind import Binding, Inline
from opwright_codegen.kernel_choices.family_calls import At, Family, Value
from opwright_codegen.records import replace
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["with_composed"]

_PARTS = (Binary, Boolean, Comparison, Conditional, Constant, Unary)


def with_composed(
    view: NamespaceView, bindings: Sequence[Binding], families: Mapping[str, Family]
) -> dict[str, Family]:
    """Return the families, and those of operators without one that are composed of operators with one, or that
    PyTorch's tag `pointwise` says to be elementwise."""
    return _Composed(view, bindings, families).all()


class _Composed:
    def __init__(self, view: NamespaceView, bindings: Sequence[Binding], families: Mapping[str, Family]) -> None:
        self._view = view
        self._found: dict[str, Family | None] = dict(families)
        self._formulas = {
            each.view.name: each.kernel.formula
            for each in bindings
            if isinstance(each.kernel, Inline) and each.key.startswith("Composite")
        }

    def all(self) -> dict[str, Family]:
        """Return the family of each operator that has one."""
        for operator in self._view.operators.values():
            if operator.schema.kind is SchemaKind.FUNCTIONAL:
                self._family(operator)
        return {name: family for name, family in self._found.items() if family is not None}

    def _family(self, operator: OperatorView) -> Family | None:
        if operator.name not in self._found:
            self._found[operator.name] = None  # for an operator that calls itself
            self._found[operator.name] = self._made(operator)
        return self._found[operator.name]

    def _made(self, operator: OperatorView) -> Family | None:
        tensors = _tensors(operator.schema)
        if not tensors or any(operator.schema.arguments[position].type.is_list_like for position in tensors):
            return None
        if "pointwise" in operator.operator.tags:
            return Family("Elementwise", tensors)
        formula = self._formulas.get(operator.name)
        if formula is None:
            return None
        if self._is_elementwise(formula, operator.schema):
            return Family("Elementwise", tensors)
        return self._of_one_call(formula, operator.schema)

    def _is_elementwise(self, formula: Formula, schema: FunctionSchema) -> bool:
        """Whether a formula calls elementwise operators alone, and does arithmetic."""
        match formula:
            case Reference(Kind.ARGUMENT | Kind.CONSTANT):
                return True
            case Call(Reference(Kind.OPERATOR, name)) | Call(Attribute(_, name)):
                parts = [*formula.arguments, *(value for _, value in formula.keywords)]
                if isinstance(formula.function, Attribute):
                    parts.append(formula.function.value)
                return self._are_elementwise(name) and all(self._is_elementwise(each, schema) for each in parts)
        return isinstance(formula, _PARTS) and all(self._is_elementwise(each, schema) for each in children(formula))

    def _are_elementwise(self, name: str) -> bool:
        """Whether all overloads of that name are."""
        overloads = [each for each in self._view.packets.get(name, ()) if each.schema.kind is SchemaKind.FUNCTIONAL]
        families = [self._family(each) for each in overloads if _tensors(each.schema)]
        return bool(families) and all(
            family is not None and family.name == "Elementwise" and not family.keywords for family in families
        )

    def _of_one_call(self, formula: Formula, schema: FunctionSchema) -> Family | None:
        """Return the family of the operator that a formula calls, if that is all it does; it may take one result."""
        if isinstance(formula, Subscript) and isinstance(formula.index, Constant):
            formula = formula.value
        if not isinstance(formula, Call) or not isinstance(formula.function, Reference):
            return None
        for callee in self._view.packets.get(formula.function.name, ()):
            passed = _passed(formula, callee.schema, schema)
            if passed is not None and callee.schema.kind is SchemaKind.FUNCTIONAL:
                family = self._family(callee)
                return None if family is None or family.name == "ByHand" else _moved(family, passed, schema)
        return None


def _tensors(schema: FunctionSchema) -> tuple[int, ...]:
    return tuple(position for position, each in enumerate(schema.arguments) if each.type.is_tensor_like)


def _passed(call: Call, callee: FunctionSchema, caller: FunctionSchema) -> dict[int, Formula | None] | None:
    """Return what a call passes for each argument, None for one that it leaves out; None if it is of another overload.

    An argument of a tensor's type takes tensors alone, and no other takes one.
    """
    arguments = callee.arguments
    names = [each.name for each in arguments]
    if len(call.arguments) > len(arguments) or any(name not in names for name, _ in call.keywords):
        return None
    given = dict(enumerate(call.arguments)) | {names.index(name): value for name, value in call.keywords}
    if any(not _fits(value, arguments[position], caller) for position, value in given.items()):
        return None
    if any(position not in given and each.default is None for position, each in enumerate(arguments)):
        return None
    return {position: given.get(position) for position in range(len(arguments))}


def _fits(value: Formula, argument: Argument, caller: FunctionSchema) -> bool:
    if isinstance(value, Reference) and value.kind is Kind.ARGUMENT:
        (own,) = [each for each in caller.arguments if each.name == value.name]
        return own.type.is_tensor_like == argument.type.is_tensor_like
    return not argument.type.is_tensor_like or (isinstance(value, Constant) and value.value is None)


def _moved(family: Family, passed: Mapping[int, Formula | None], schema: FunctionSchema) -> Family | None:
    """Return a family with the positions of the caller's arguments; None where a position is none of these."""
    positions = {each.name: position for position, each in enumerate(schema.arguments)}

    def moved(position: int) -> int:
        value = passed[position]
        if not isinstance(value, Reference) or value.kind is not Kind.ARGUMENT:
            raise LookupError(position)
        return positions[value.name]

    dims = dict(family.keywords).get("dim")
    if family.name == "Along" and isinstance(dims, int) and _is_none(passed[dims]):
        family = Family("Everything", family.arguments)  # it is called for all dimensions
    try:
        keywords = tuple((key, _replaced(value, moved, key != "core")) for key, value in family.keywords)
        return replace(family, arguments=tuple(_operands(family, moved)), keywords=keywords)
    except LookupError:
        return None


def _is_none(value: Formula | None) -> bool:
    return isinstance(value, Constant) and value.value is None


def _operands(family: Family, moved: Callable[[int], int]) -> Iterator[Value]:
    for argument in family.arguments:
        match argument:
            case (int(place), core) if family.name == "Leading":
                yield (moved(place), core)
            case _:
                yield _replaced(argument, moved, True)


def _replaced(value: Value, moved: Callable[[int], int], are_places: bool) -> Value:
    match value:
        case bool() | str():
            return value
        case int():
            return moved(value) if are_places else value
        case At(place):
            return At(moved(place))
        case Family():
            return value  # of no family that is moved
    return tuple(_replaced(each, moved, are_places) for each in value)
