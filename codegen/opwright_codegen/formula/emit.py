"""Formulas as Python text, with no parentheses but those that Python needs, laid out as ruff lays out code."""

from __future__ import annotations

import keyword
import math
from collections.abc import Collection, Mapping
from types import EllipsisType
from typing import assert_never

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
    List,
    Name,
    Reference,
    Slice,
    Subscript,
    Tuple,
    Unary,
    Verbatim,
)
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.records import dataclass, field, replace

__all__ = ["Spelling", "emit", "with_out"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spelling in generated code of what a formula refers to.

    `arguments` maps names of arguments, results, gradients and what is saved of them to a name or a dotted path; the
    others are prefixes, save `xp`, which is the array module itself. A name that is a Python keyword gets a trailing
    underscore.
    """

    xp: str = "xp"
    operator: str = "ops."
    function: str = "gradients."
    rule: str = "rules."
    dtype: str = "dtypes."
    constant: str = "math."
    builtin: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    def of(self, reference: Reference) -> str:
        """Return the Python text for `reference`."""
        name = safe_name(reference.name)
        match reference.kind:
            case Kind.ARGUMENT | Kind.GRAD | Kind.RESULT | Kind.MASK | Kind.PRIMAL | Kind.TANGENT | Kind.SAVED:
                return self.arguments.get(reference.name, name)
            case Kind.MODULE:
                return self.xp
            case Kind.OPERATOR:
                return self.operator + name
            case Kind.FUNCTION:
                return self.function + name
            case Kind.RULE:
                return self.rule + name
            case Kind.DTYPE:
                return self.dtype + name
            case Kind.CONSTANT:
                return self.constant + name
            case Kind.BUILTIN:
                return self.builtin + name
            case _:
                assert_never(reference.kind)


AS_WRITTEN = Spelling(operator="", function="", rule="", dtype="", constant="")


def safe_name(name: str) -> str:
    """Return the name, with a trailing underscore if it is a Python keyword."""
    return f"{name}_" if keyword.iskeyword(name) else name


def emit(formula: Formula, spelling: Spelling = AS_WRITTEN) -> str:
    """Return the formula as a Python expression on one line; a tuple keeps its parentheses."""
    return _text(formula, spelling, _ANY)


# Of these NumPy deprecates `out` as a third positional argument: readers take it for one more operand.
_OUT_BY_KEYWORD = frozenset({"maximum", "minimum"})


def with_out(formula: Formula, out: str, *, positional: bool = False, writers: Collection[str] = ()) -> Formula | None:
    """Return the formula writing into `out` (Python text), if it calls a ufunc of `xp` or one of the functions
    `writers`, or a choice does; else None.

    With `positional`, `out` follows the operands, which is a little faster; where that is not possible, by keyword.
    """
    match formula:
        case Conditional(_, then, otherwise):
            changed, other = (
                with_out(branch, out, positional=positional, writers=writers) for branch in (then, otherwise)
            )
            return replace(formula, then=changed, otherwise=other) if changed and other else None
        case Call(Attribute(Reference(Kind.MODULE), ufunc), arguments, keywords):
            if UFUNCS.get(ufunc) != len(arguments) or any(name == "out" for name, _ in keywords):
                return None
            target = Verbatim(out)
            if positional and ufunc not in _OUT_BY_KEYWORD:
                return replace(formula, arguments=(*arguments, target))
            return replace(formula, keywords=(*keywords, ("out", target)))
        case Call(Reference(Kind.FUNCTION, name), _, keywords) if name in writers:
            return replace(formula, keywords=(*keywords, ("out", Verbatim(out))))
        case _:
            return None


# How tightly a formula holds together, from Python's grammar: less needs parentheses inside more.
_ANY, _CHOICE, _OR, _AND, _NOT, _COMPARE = range(6)
_BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT, _SIGN, _POWER, _PRIMARY = range(6, 15)
_BINARY = {
    "|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND, "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM,
    "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "@": _PRODUCT, "**": _POWER,
}  # fmt: skip


def _text(formula: Formula, spelling: Spelling, least: int) -> str:
    text, own = _spell(formula, spelling)
    return text if own >= least else f"({text})"


def _spell(formula: Formula, spelling: Spelling) -> tuple[str, int]:
    """Return the text without parentheses around it, and how tightly it holds together."""
    match formula:
        case Name(name):
            return safe_name(name), _PRIMARY
        case Reference():
            return spelling.of(formula), _PRIMARY
        case Verbatim(text):
            return text, _PRIMARY if text.replace(".", "").isidentifier() else _CHOICE
        case Constant(value):
            return constant_text(value), _PRIMARY if not _is_negative(value) else _SIGN
        case Attribute(value, name):
            return f"{_receiver(value, spelling)}.{name}", _PRIMARY
        case Call(function, arguments, keywords):
            inner = [_text(argument, spelling, _CHOICE) for argument in arguments]
            inner += (f"{name}={_text(value, spelling, _CHOICE)}" for name, value in keywords)
            return f"{_text(function, spelling, _PRIMARY)}({', '.join(inner)})", _PRIMARY
        case Subscript(value, index):
            return f"{_text(value, spelling, _PRIMARY)}[{_index(index, spelling)}]", _PRIMARY
        case Slice():
            return _slice(formula, spelling), _ANY
        case Tuple(items):
            comma = "," if len(items) == 1 else ""
            return f"({_items(items, spelling)}{comma})", _PRIMARY
        case List(items):
            return f"[{_items(items, spelling)}]", _PRIMARY
        case _:
            return _spell_operation(formula, spelling)


def _spell_operation(
    formula: Unary | Binary | Comparison | Boolean | Conditional, spelling: Spelling
) -> tuple[str, int]:
    match formula:
        case Unary("not", operand):
            return f"not {_text(operand, spelling, _NOT)}", _NOT
        case Unary(operator, Binary("**") as power):
            return f"{operator}({_text(power, spelling, _POWER)})", _SIGN  # not needed, but what ruff writes
        case Unary(operator, operand):
            return operator + _text(operand, spelling, _SIGN), _SIGN
        case Binary("**", left, right):
            space = "" if _hugs_power(left) and _hugs_power(right) else " "
            return f"{_text(left, spelling, _PRIMARY)}{space}**{space}{_text(right, spelling, _SIGN)}", _POWER
        case Binary(operator, left, right):
            own = _BINARY[operator]
            return f"{_text(left, spelling, own)} {operator} {_text(right, spelling, own + 1)}", own
        case Comparison(first, rest):
            parts = [_text(first, spelling, _COMPARE + 1)]
            parts += (f"{operator} {_text(operand, spelling, _COMPARE + 1)}" for operator, operand in rest)
            return " ".join(parts), _COMPARE
        case Boolean(operator, values):
            own = _AND if operator == "and" else _OR
            return f" {operator} ".join(_text(value, spelling, own + 1) for value in values), own
        case Conditional(test, then, otherwise):
            chosen, asked = _text(then, spelling, _OR), _text(test, spelling, _OR)
            return f"{chosen} if {asked} else {_text(otherwise, spelling, _CHOICE)}", _CHOICE
        case _:
            assert_never(formula)


def _items(items: tuple[Formula, ...], spelling: Spelling) -> str:
    return ", ".join(_text(item, spelling, _CHOICE) for item in items)


def _receiver(value: Formula, spelling: Spelling) -> str:
    text = _text(value, spelling, _PRIMARY)
    is_number = isinstance(value, Constant) and type(value.value) in (int, float) and text[0] != "("
    return f"({text})" if is_number else text  # `1.real` would begin with the number `1.`


def _index(index: Formula, spelling: Spelling) -> str:
    match index:
        case Tuple(items) if len(items) > 1:
            return ", ".join(_text(item, spelling, _ANY) for item in items)
        case Tuple((Slice() as item,)):
            return f"{_slice(item, spelling)},"
        case _:
            return _text(index, spelling, _ANY)


def _slice(part: Slice, spelling: Spelling) -> str:
    bounds = (part.lower, part.upper, part.step)
    space = "" if all(bound is None or _is_short(bound) for bound in bounds) else " "
    lower, upper, step = ("" if bound is None else _text(bound, spelling, _CHOICE) for bound in bounds)
    text = f"{lower}{space if lower else ''}:{space if upper else ''}{upper}"
    if not step:
        return text
    return f"{text}{space if upper else ''}:{space}{step}"


def _is_short(bound: Formula) -> bool:
    """Whether ruff puts no spaces around the colon beside `bound`."""
    match bound:
        case Unary(operator, operand):
            return operator != "not" and _is_short(operand)
        case Name() | Constant():
            return True
        case Reference():
            return True
        case _:
            return False


def _hugs_power(operand: Formula) -> bool:
    """Whether ruff puts no spaces between `operand` and `**`."""
    match operand:
        case Name() | Reference():
            return True
        case Constant(value):
            return not isinstance(value, str | EllipsisType)
        case Attribute(Constant(value)):
            return value is None or isinstance(value, bool)
        case Attribute(value):
            return _hugs_power(value)
        case Unary(operator, Constant(value)):
            return operator != "not" and isinstance(value, int | float | complex) and not isinstance(value, bool)
        case _:
            return False


def _is_negative(value: object) -> bool:
    return (isinstance(value, int) and value < 0) or (isinstance(value, float) and math.copysign(1.0, value) < 0)


def constant_text(value: int | float | complex | str | bool | EllipsisType | None) -> str:
    """Return a literal, or the call that makes a value which has none."""
    match value:
        case EllipsisType():
            return "..."
        case str():
            return string_text(value)
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case complex() if value.real or not math.isfinite(value.imag) or math.copysign(1.0, value.imag) < 0:
            return f"complex({constant_text(value.real)}, {constant_text(value.imag)})"
        case _:
            return repr(value).replace("e+", "e")


def string_text(value: str) -> str:
    """Return a string as a literal in double quotes, unless others save a backslash."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    escaped = (f"\\{char}" if char == quote else char if char in "'\"" else repr(char)[1:-1] for char in value)
    return quote + "".join(escaped) + quote
