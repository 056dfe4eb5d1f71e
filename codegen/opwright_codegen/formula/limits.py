"""Limits of what formulas may do: what a resolved one names is on the lists, and it calls that alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.formula.allowed_names import (
    ARRAY_CONSTANTS,
    ARRAY_FACTS,
    ARRAY_FUNCTIONS,
    ARRAY_METHODS,
    TENSOR_FACTS,
    TENSOR_METHODS,
    UFUNC_METHODS,
    VALUES,
    may_be_method,
)
from opwright_codegen.formula.ast import Attribute, Binary, Call, Constant, Formula, Kind, Reference, Unary, children
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.source import Span

__all__ = ["problems"]

_CALLABLE = (Kind.BUILTIN, Kind.OPERATOR, Kind.FUNCTION, Kind.RULE, Kind.DTYPE)
_MAX_BITS = 1024  # of a number that is written out as arithmetic: 9**9**9 would never be done


def problems(
    formula: Formula, *, is_of_arrays: bool = False, methods: Collection[str] | None = ()
) -> Iterator[SchemaError]:
    """Say what is wrong with a formula. `is_of_arrays`: a kernel, whose tensors are arrays; else `methods` are those
    that operators give. With None for these, who asks looks at attributes himself."""
    if methods is None:
        yield from _Limits(None, ()).problems(formula, is_called=False)
    elif is_of_arrays:
        yield from _Limits(ARRAY_FACTS, ARRAY_METHODS).problems(formula, is_called=False)
    else:
        known = TENSOR_METHODS.union(each for each in methods if may_be_method(each))
        yield from _Limits(TENSOR_FACTS, known).problems(formula, is_called=False)


class _Limits:
    def __init__(self, facts: Collection[str] | None, methods: Collection[str]) -> None:
        self._facts = facts
        self._methods = methods

    def problems(self, formula: Formula, is_called: bool) -> Iterator[SchemaError]:
        match formula:
            case Attribute() if (path := _path_in_module(formula)) is not None:
                yield from _of_module(formula, path, is_called)
            case Reference(Kind.MODULE):
                yield _refused("xp is the array module, and no value", formula.span, "name a function of it: xp.exp(…)")
            case Attribute(value, name):
                yield from self._attribute(formula, name, is_called)
                yield from self.problems(value, is_called=False)
            case Reference(kind, name) if kind in _CALLABLE and kind is not Kind.DTYPE and name not in VALUES:
                if not is_called:
                    yield _refused(f"{name} is a function, and no value", formula.span, f"call it: {name}(…)")
            case Call(function, arguments, keywords):
                if not isinstance(function, Reference | Attribute) or (
                    isinstance(function, Reference) and function.kind not in _CALLABLE
                ):
                    yield _refused("only a function that is named can be called", function.span, None)
                yield from self.problems(function, is_called=True)
                for argument in (*arguments, *(value for _, value in keywords)):
                    yield from self.problems(argument, is_called=False)
            case _:
                yield from _arithmetic(formula)
                for child in children(formula):
                    yield from self.problems(child, is_called=False)

    def _attribute(self, formula: Attribute, name: str, is_called: bool) -> Iterator[SchemaError]:
        if self._facts is None or name in (self._methods if is_called else self._facts):
            return
        if name in (self._facts if is_called else self._methods):
            message = f".{name} is {'no method' if is_called else 'a method, and no value'}"
            yield _refused(message, _last(formula), f"write .{name}{'' if is_called else '(…)'}")
            return
        near = nearest(name, [*self._methods, *self._facts])
        hint = f"did you mean .{near}?" if near else "the lists of what formulas may use: docs/schema-files.md"
        yield _refused(f"formulas may not use .{name}", _last(formula), hint, code="unknown-attribute")


def _path_in_module(formula: Formula) -> str | None:
    """Return what stands after `xp.`, with dots; None where something else is meant."""
    match formula:
        case Attribute(Reference(Kind.MODULE), name):
            return name
        case Attribute(value, name):
            path = _path_in_module(value)
            return None if path is None else f"{path}.{name}"
        case _:
            return None


def _of_module(formula: Attribute, path: str, is_called: bool) -> Iterator[SchemaError]:
    head, _, method = path.rpartition(".")
    if path in (ARRAY_FUNCTIONS if is_called else ARRAY_CONSTANTS):
        return
    if is_called and head in UFUNCS and method in UFUNC_METHODS:
        return
    head, _, rest = path.partition(".")
    if not is_called and head in ARRAY_CONSTANTS and rest in ARRAY_FACTS:
        return
    if path in ARRAY_FUNCTIONS:
        yield _refused(f"xp.{path} is a function, and no value", formula.span, f"call it: xp.{path}(…)")
        return
    near = nearest(path, [*ARRAY_FUNCTIONS, *ARRAY_CONSTANTS])
    hint = f"did you mean xp.{near}?" if near else "formulas use functions of NumPy that compute: docs/schema-files.md"
    yield _refused(f"formulas may not use xp.{path}", formula.span, hint, code="unknown-array-function")


def _arithmetic(formula: Formula) -> Iterator[SchemaError]:
    match formula:
        case Binary("%", Constant(str()), _):
            yield _refused("formulas make no texts", formula.span, "% takes the remainder of numbers")
        case Binary("*", Constant(str()), _) | Binary("*", _, Constant(str())):
            yield _refused("formulas make no texts", formula.span, "* multiplies numbers")
        case Binary() if (bits := _bits(formula)) is not None and bits > _MAX_BITS:
            yield _refused(f"the number has more than {_MAX_BITS} bits", formula.span, "write it as a float")
        case _:
            pass


def _bits(formula: Formula) -> int | None:
    """Return about how many bits an integer has that is written out as arithmetic; None where something else is."""
    match formula:
        case Constant(bool()):
            return 1
        case Constant(int() as value):
            return value.bit_length()
        case Unary(_, operand):
            return _bits(operand)
        case Binary(operator, left, right):
            first, second = _bits(left), _bits(right)
            if first is None or second is None:
                return None
            if operator in ("**", "<<"):
                times = _small(right)
                if times is None:
                    return _MAX_BITS + 1
                return first * times if operator == "**" else first + times
            return first + second if operator == "*" else max(first, second) + 1
        case _:
            return None


def _small(formula: Formula) -> int | None:
    """Return the value of a number that stands there as it is, if it is small."""
    match formula:
        case Constant(int() as value) if value <= _MAX_BITS:
            return value
        case Unary("-" | "+", operand):
            return _small(operand)
        case _:
            return None


def _last(formula: Attribute) -> Span | None:
    span = formula.span
    return None if span is None else span.sub(len(span.text) - len(formula.name), len(span.text))


def _refused(message: str, span: Span | None, hint: str | None, *, code: str = "not-allowed") -> SchemaError:
    return SchemaError(code, message, span, hint)
