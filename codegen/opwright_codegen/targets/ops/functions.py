"""Target `functions/*.py`: the Python modules that the keys `functions` and `python_module` of entries name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.declared.parts import OTHER_OPERATORS, REDUCTION, REDUCTION_FLAGS, TAKEN, PythonFunction
from opwright_codegen.formula.ast import Constant, Formula
from opwright_codegen.formula.emit import emit
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.types import OptionalType
from opwright_codegen.views.annotations import annotation, return_annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import docstring, hugged, quoted
from opwright_codegen.views.names import BuiltinNames, is_word
from opwright_codegen.views.operators import NamespaceView, OperatorView, Parameter

__all__ = ["FOLDER", "TEMPLATE", "context", "modules_of", "view_of"]

FOLDER = "functions"
TEMPLATE = "functions.py.j2"
_TENSOR = "A"  # a type variable: a Tensor or a plain array
_Declared = tuple[OperatorView, PythonFunction]


@dataclass(frozen=True, slots=True)
class Shown:
    """A function with its own signature: the parts of its definition."""

    signature: str
    doc: str
    statements: Sequence[str]


def modules_of(view: NamespaceView) -> dict[str, list[_Declared]]:
    """Return the functions of each Python module, with their operators."""
    found: dict[str, dict[str, _Declared]] = {}
    for operator in view.operators.values():
        for each in (*operator.operator.functions, *_named(operator)):
            found.setdefault(each.module, {}).setdefault(each.name, (operator, each))
    return {module: list(functions.values()) for module, functions in found.items()}


def _named(operator: OperatorView) -> Iterator[PythonFunction]:
    """Yield the function that `python_module` stands for: `det` of the module `linalg` for `linalg_det`."""
    module = operator.operator.python_module or ""
    prefix, _, name = operator.schema.name.base.partition(f"{module}_")
    if module.isidentifier() and not prefix and is_word(name) and name not in TAKEN:
        yield PythonFunction(module, name, operator.operator.span("python_module"))


def view_of(view: NamespaceView, declared: Sequence[_Declared]) -> NamespaceView:
    """Return the view of the schema files that declare some functions."""
    files = {view.schema_modules[view.homes[operator.name]] for operator, _ in declared}
    return replace(view, sources={path: shown for path, shown in view.sources.items() if path in files})


def context(module: str, view: NamespaceView, declared: Sequence[_Declared]) -> dict[str, object]:
    """Return what the template shows: the functions of one Python module."""
    names = sorted(each.name for _, each in declared)
    making = _Making(view, BuiltinNames(names))
    shown = [making.function(*each) for each in declared if each[1].parameters is not None]
    words = words_in([text for each in shown for text in (each.signature, *each.statements)])
    words |= {"Any", "NDArray", "Tensor", "TypeVar"} if shown else set()
    return {
        "module": module,
        "imports": import_lines(words, ["builtins"] if "builtins" in words else [], [("..", "ops", "ops")]),
        "functions": shown,
        "operators": [making.operator(*each) for each in declared if each[1].parameters is None],
        "names": [quoted(name) for name in names],
    }


class _Making:
    """The definitions of the functions of one module."""

    def __init__(self, view: NamespaceView, builtins: BuiltinNames) -> None:
        self._view = view
        self._builtins = builtins

    def operator(self, operator: OperatorView, function: PythonFunction) -> str:
        """Return the statement that gives an operator, or its in-place variant, another name."""
        base = operator.schema.name.base
        is_inplace = function.name.endswith("_") and not base.endswith("_")
        return f"{function.name} = {self._callee(f'{base}_' if is_inplace else base)}"

    def function(self, operator: OperatorView, function: PythonFunction) -> Shown:
        """Return the definition of a function with its own signature."""
        assert function.parameters is not None
        own = {p.argument.name: p for p in operator.parameters}
        given = dict(function.parameters)
        base, returned = operator.schema.name.base, self._returned(operator)
        passed = list(_passed(operator, given))
        statements = [
            line
            for name, default in given.items()
            if name in own and _stands_for_default(own[name], default)
            for line in (f"if {name} is None:", f"    {name} = {own[name].default}")
        ]
        for name, ending in OTHER_OPERATORS.items():
            if name in given and not base.endswith(ending):
                other = f"{base}{ending}"
                returned = _either(returned, self._returned(self._view.packets[other][0]))
                call = hugged(f"return {self._callee(other)}(", passed, ")", 8)
                statements += [f"if {name}:", f"    {call}"]
        statements.append(hugged(f"return {self._callee(base)}(", passed, ")", 4))
        parameters = [self._parameter(name, default, own) for name, default in given.items()]
        signature = hugged(f"def {function.name}(", parameters, f") -> {returned}:")
        return Shown(signature, docstring(function.doc, 4), statements)

    def _callee(self, base: str) -> str:
        return f"ops.{self._view.names.packets[base].function}"

    def _returned(self, operator: OperatorView) -> str:
        return return_annotation(operator.schema.returns, self._builtins, tensor=_TENSOR)

    def _parameter(self, name: str, default: Formula | None, own: Mapping[str, Parameter]) -> str:
        parameter = own.get("self" if name == "input" and name not in own else name)
        if parameter is None:
            kind = f"{self._builtins['bool']} | None" if name in REDUCTION_FLAGS else self._builtins["bool"]
        elif _is_word(default) and name == REDUCTION:
            kind = self._builtins["str"]
        else:
            kind = annotation(parameter.argument.type, self._builtins, tensor=_TENSOR)
            kind = f"{kind} | None" if _stands_for_default(parameter, default) else kind
        return f"{name}: {kind}" if default is None else f"{name}: {kind} = {emit(default)}"


def _passed(operator: OperatorView, given: Mapping[str, Formula | None]) -> Iterator[str]:
    """Yield the arguments of the call: by name behind the first that the function leaves to its default."""
    by_name = False
    for parameter in operator.parameters:
        name = parameter.argument.name
        value = "input" if name == "self" and name not in given else name
        if value not in given:
            by_name = True
            continue
        if name == REDUCTION and _is_word(given[name]):
            flags = [flag for flag in REDUCTION_FLAGS if flag in given]
            named = flags if len(flags) == len(REDUCTION_FLAGS) else [f"{flag}={flag}" for flag in flags]
            value = f"reduction_number({', '.join([value, *named])})"
        yield f"{parameter.name}={value}" if by_name or parameter.argument.kwarg_only else value


def _is_word(default: Formula | None) -> bool:
    return isinstance(default, Constant) and isinstance(default.value, str)


def _stands_for_default(parameter: Parameter, default: Formula | None) -> bool:
    """Return whether None is the function's default and the operator takes no None."""
    is_none = isinstance(default, Constant) and default.value is None
    return is_none and not isinstance(parameter.argument.type, OptionalType)


def _either(first: str, second: str) -> str:
    return first if first == second else f"{first} | {second}"
