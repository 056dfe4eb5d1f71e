"""The meaning here of names of PyTorch's C++: methods of its tensors, and the functions of `counterparts.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

import yaml

from opwright_codegen.derivatives.cpp import parse_cpp
from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    List,
    Name,
    Subscript,
    Unary,
    rewrite,
)
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import BUILTINS
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Text

__all__ = ["is_pytorchs", "translated"]

_ATTRIBUTES: Mapping[str, str] = {
    "sym_sizes": "shape", "sizes": "shape", "scalar_type": "dtype", "dtype": "dtype", "device": "device",
    "layout": "layout", "mT": "mT", "mH": "mH",
}  # fmt: skip
_RENAMED: Mapping[str, str] = {
    "sym_numel": "numel", "sym_strides": "stride", "sym_storage_offset": "storage_offset", "ger": "outer",
}  # fmt: skip
_CONSTANTS: Mapping[str, Formula] = {
    "M_PI": Name("pi"),
    "M_LN2": Constant(0.6931471805599453),
    "M_LN10": Constant(2.302585092994046),
    "M_2_SQRTPI": Constant(1.1283791670955126),
    "kInt": Name("int32"),
    "kLong": Name("int64"),
}
_NUMBERS = ("Scalar", "int", "SymInt", "float", "bool", "number")
_LANGUAGE = frozenset(("not_implemented", *BUILTINS))


@cache
def _table() -> dict[tuple[str, int], tuple[tuple[str, ...], Formula]]:
    """Return parameters and formula of each function, by name and number of arguments."""
    text = files("opwright_codegen.derivatives").joinpath("counterparts.yaml").read_text(encoding="utf-8")
    found = {}
    for head, formula in yaml.safe_load(text).items():
        name, _, rest = head.rstrip(")").partition("(")
        names = tuple(each.strip() for each in rest.split(","))
        found[name, len(names)] = names, parse(Text(formula, Source(f"<{name}>", formula).whole()))
    return found


def is_pytorchs(text: str) -> bool:
    """Whether a file of derivatives calls what formulas in C++ alone have."""
    return ".sym_sizes()" in text or "handle_r_to_c(" in text


def translated(text: Text, schema: FunctionSchema, functions: Collection[str], callable_: Collection[str]) -> Formula:
    """Return a formula of a file of PyTorch in our language, of names that are not resolved yet.

    `functions` are those of the user's own modules, which stand for functions of C++ as they are; `callable_` are the
    operators that may be called. Raises SchemaErrors for what is no formula in either language, and for functions that
    have no counterpart, each with its place.
    """
    formula = _read(text)
    problems: list[SchemaError] = []
    numbers = {each.name for each in schema.arguments if str(each.type).rstrip("?") in _NUMBERS}
    lists = {each.name for each in schema.arguments if each.type.is_list_like}
    translation = _Translation(functions, callable_, numbers, lists, problems, str(schema.name))
    found = translation.of(formula)
    if problems:
        raise problems[0] if len(problems) == 1 else SchemaErrors(tuple(problems))
    return found


def _read(text: Text) -> Formula:
    """Read C++ first, where `a & b == c` means something else; Python where it is none."""
    try:
        return parse_cpp(text)
    except SchemaError as error:
        try:
            return parse(text)
        except SchemaError:
            raise error from None


class _Translation:
    def __init__(
        self,
        functions: Collection[str],
        operators: Collection[str],
        numbers: Collection[str],
        lists: Collection[str],
        problems: list[SchemaError],
        of: str,
    ) -> None:
        self._functions = functions
        self._operators = operators
        self._numbers = numbers
        self._lists = lists
        self._problems = problems
        self._of = of

    def of(self, formula: Formula) -> Formula:
        """Return the formula with each name of PyTorch's replaced by what it means."""
        return rewrite(formula, self._changed)

    def _changed(self, part: Formula) -> Formula | None:
        match part:
            case Conditional(Call(Name("GradMode::is_enabled" | "at::GradMode::is_enabled"), ()), _, otherwise):
                return self.of(otherwise)  # backward functions are differentiable here: one serves both
            case Conditional(Comparison(_, (("==", Name("kJagged")),)), _, otherwise):
                return self.of(otherwise)  # of nested tensors, which there are none of
            case Name(name) if name in _CONSTANTS:
                return _CONSTANTS[name]
            case Call(Attribute(value, name), arguments, ()):
                return self._method(part, self.of(value), name, [self.of(each) for each in arguments])
            case Call(Name(name), arguments, ()):
                return self._function(part, name.removesuffix("_symint"), [self.of(each) for each in arguments])
            case _:
                return None

    def _method(self, part: Formula, value: Formula, name: str, arguments: list[Formula]) -> Formula:
        """Return what a method of a tensor, a number, a list or an optional value of C++ is."""
        span = part.span
        match name.removesuffix("_symint"), arguments:
            case found, [] if found in _ATTRIBUTES:
                return Attribute(value, _ATTRIBUTES[found], span=span)
            case "sym_size", [index]:
                return Subscript(Attribute(value, "shape"), index, span=span)
            case "defined" | "has_value", []:
                return Comparison(value, (("is not", Constant(None)),), span=span)
            case "value_or", [other]:
                return Conditional(Comparison(value, (("is", Constant(None)),)), other, value, span=span)
            case "value" | "toDouble" | "toFloat" | "toComplexDouble", []:
                return value
            case "size", [] if self._is_list(value):
                return Call(Name("len"), (value,), span=span)
            case "empty", [] if self._is_list(value):
                return Comparison(Call(Name("len"), (value,)), (("==", Constant(0)),), span=span)
            case "back", [] if self._is_list(value):
                return Subscript(value, Unary("-", Constant(1)), span=span)
            case "conj", [] if isinstance(value, Name) and value.name in self._numbers:
                return Call(Attribute(value, "conjugate"), (), span=span)
            case "new_zeros" | "new_ones" as found, [shape, options] if _is_options(options):
                return Call(Attribute(value, found), (shape,), span=span)
            case found, _:
                named = _RENAMED.get(found, found)
                return Call(Attribute(value, named, span=span), tuple(arguments), span=span)

    def _is_list(self, value: Formula) -> bool:
        return (isinstance(value, Name) and value.name in self._lists) or isinstance(value, List)

    def _function(self, part: Formula, name: str, arguments: list[Formula]) -> Formula:
        """Return what a call of a function of C++ is: the user's own of that name, else the counterpart."""
        found = None if name in self._functions else _table().get((name, len(arguments)))
        if found is not None:
            names, formula = found
            return self._expanded(formula, dict(zip(names, map(_without_options, arguments), strict=True)))
        match name, arguments:
            case "zeros" | "ones", [shape, Call(Attribute(value, "options"), ())]:
                return Call(Attribute(value, f"new_{name}"), (shape,), span=part.span)
            case "to_args_sizes", [value]:
                return Call(Name("shapes_of"), (value,), span=part.span)
            case "to_args_scalartypes", [value]:
                return Call(Name("dtypes_of"), (value,), span=part.span)
            case "real" | "imag", [value]:  # also where an argument is called so
                return Attribute(value, name, span=part.span)
            case "TensorGeometry", [value]:
                return value
            case "sqrt", [Constant() | Binary() | Name("pi") as value]:
                return Binary("**", value, Constant(0.5), span=part.span)
            case _:
                pass
        if name not in self._functions and name not in self._operators and name not in _LANGUAGE:
            self._problems.append(self._unknown(part, name, len(arguments)))
        assert isinstance(part, Call)
        return Call(Name(name, span=part.function.span), tuple(arguments), span=part.span)

    def _expanded(self, formula: Formula, values: Mapping[str, Formula]) -> Formula:
        def change(part: Formula) -> Formula | None:
            match part:
                case Call(Attribute(Name(name), "conj" | "conjugate"), ()) if _is_number(
                    values.get(name), self._numbers
                ):
                    return _conjugate(values[name])
                case Name(name) if name in values:
                    return values[name]
                case Name(name) if isinstance(value := values.get(name.removesuffix("_t")), Name):
                    return Name(f"{value.name}_t", span=value.span)  # of a list, which has tangents of its own
                case _:
                    return None

        return rewrite(formula, change)

    def _unknown(self, part: Formula, name: str, count: int) -> SchemaError:
        assert isinstance(part, Call)
        counts = [number for known, number in _table() if known == name]
        message = f"{self._of}: the C++ function {name!r} has no counterpart"
        if counts:
            message = f"{self._of}: {name!r} of {count} arguments has no counterpart, of {counts[0]} it has"
        hint = f"write {name} as a Python function over operators, in a module of 'gradients' of [tool.opwright]"
        return SchemaError("unknown-name", message, part.function.span or part.span, hint)


def _is_options(formula: Formula) -> bool:
    return isinstance(formula, Call) and isinstance(formula.function, Attribute) and formula.function.name == "options"


def _without_options(formula: Formula) -> Formula:
    """Return the tensor whose options these are: a counterpart takes it, and reads of it what it needs."""
    if isinstance(formula, Call) and isinstance(formula.function, Attribute) and formula.function.name == "options":
        return formula.function.value
    return formula


def _is_number(formula: Formula | None, numbers: Collection[str]) -> bool:
    match formula:
        case Constant(int() | float()):
            return True
        case Name(name) | Call(Attribute(Name(name), "conjugate"), ()):
            return name in numbers
        case _:
            return False


def _conjugate(value: Formula) -> Formula:
    return value if isinstance(value, Constant) else Call(Attribute(value, "conjugate"), ())
