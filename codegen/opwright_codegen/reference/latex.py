"""Formulas in LaTeX. What has no certain notation is not set: whoever shows it shows its text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

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
    Subscript,
    Tuple,
    Unary,
)

__all__ = ["latex", "named", "tangent"]

_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tight a text holds together
_Set = tuple[str, int]

_FUNCTIONS: Final = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh",
    "log": r"\ln", "log2": r"\log_2", "log10": r"\log_{10}", "digamma": r"\psi", "real": r"\operatorname{Re}",
    "imag": r"\operatorname{Im}", "sigmoid": r"\sigma", "lgamma": r"\ln\Gamma", "sgn": r"\operatorname{sgn}",
    "sign": r"\operatorname{sgn}", "erf": r"\operatorname{erf}", "erfc": r"\operatorname{erfc}",
}  # fmt: skip
# Of one operand, {}: the notation, how tight it holds, and how tight the operand must.
_NOTATIONS: Final = {
    "sqrt": (r"\sqrt{{{}}}", _ATOM, _SUM), "rsqrt": (r"\frac{{1}}{{\sqrt{{{}}}}}", _PRODUCT, _SUM),
    "reciprocal": (r"\frac{{1}}{{{}}}", _PRODUCT, _SUM), "square": ("{}^{{2}}", _POWER, _ATOM),
    "exp": ("e^{{{}}}", _POWER, _SUM), "exp2": ("2^{{{}}}", _POWER, _SUM), "expm1": ("e^{{{}}} - 1", _SUM, _SUM),
    "log1p": (r"\ln\left(1 + {}\right)", _POWER, _PRODUCT), "abs": (r"\left|{}\right|", _ATOM, _SUM),
    "conj": (r"\overline{{{}}}", _ATOM, _SUM), "conjugate": (r"\overline{{{}}}", _ATOM, _SUM),
    "t": (r"{}^{{\mathsf{{T}}}}", _POWER, _ATOM), "mT": (r"{}^{{\mathsf{{T}}}}", _POWER, _ATOM),
    "mH": (r"{}^{{\mathsf{{H}}}}", _POWER, _ATOM), "neg": ("-{}", _SUM, _PRODUCT), "zeros_like": ("0", _ATOM, _SUM),
    "ones_like": ("1", _ATOM, _SUM),
}  # fmt: skip
# Of two operands: the operator of formulas that says the same. Functions of ours that scale are products.
_INFIX: Final = {
    "mul": "*", "add": "+", "sub": "-", "div": "/", "pow": "**", "matmul": "@", "mm": "@", "bmm": "@", "mv": "@",
    "scaled": "*",
}  # fmt: skip
_RELATIONS: Final = {
    "<": "<", ">": ">", "<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "is": r"\text{ is }",
    "is not": r"\text{ is not }",
}  # fmt: skip
_COMPARED: Final = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
_BEGIN, _END = r"\begin{cases} ", r" \end{cases}"
_CONSTANTS: Final = {"pi": r"\pi", "inf": r"\infty", "nan": r"\mathrm{nan}"}
_LOGARITHMS: Final = {math.log(2): r"\ln 2", math.log(10): r"\ln 10"}


class _NotSetError(Exception):
    """The sign that a part of a formula has no notation."""


def latex(formula: Formula) -> str | None:
    """Return a formula in LaTeX; None where it is, as a whole, a call of a function that is no operator and has no
    notation of its own, and where a part of it has none: a slice, a list."""
    if isinstance(formula, Call) and not _is_of_operator(formula) and _notation_of(formula) is None:
        return None
    try:
        return _text(formula)[0]
    except _NotSetError:
        return None


def _is_of_operator(call: Call) -> bool:
    """Whether a call is of an operator that people call, as a function or a method: `gather`, not `elu_backward`."""
    match call.function:
        case Reference(Kind.OPERATOR, name):
            return not name.startswith("_") and not name.endswith(("_backward", "_jvp"))
        case Attribute(Reference(kind, _), _):
            return kind is not Kind.MODULE
    return False


def named(name: str) -> str:
    """Return a name as formulas have it."""
    return rf"\mathit{{{_escaped(name)}}}"


def tangent(name: str) -> str:
    """Return what stands for the tangent of an argument or a result."""
    return rf"\mathrm{{d}}\,{named(name)}"


def _text(formula: Formula) -> _Set:
    match formula:
        case Reference(Kind.TANGENT, name):
            return tangent(name.removesuffix("_t")), _POWER
        case Reference(Kind.PRIMAL, name):
            return named(name.removesuffix("_p")), _ATOM
        case Name(name) | Reference(_, name):
            is_constant = name in _CONSTANTS and getattr(formula, "kind", Kind.CONSTANT) is Kind.CONSTANT
            return _CONSTANTS[name] if is_constant else named(name), _ATOM
        case Constant(value):
            return _number(value)
        case Attribute(value, name):
            return _applied(name, (value,))
        case Subscript(value, index):
            return f"{_held(value, _ATOM)}_{{{_listed(index)}}}", _ATOM
        case Unary("-", operand):
            return f"-{_held(operand, _PRODUCT)}", _SUM
        case Unary("~" | "not", operand):
            return rf"\lnot {_held(operand, _ATOM)}", _PRODUCT
        case Binary(operator, left, right):
            return _binary(operator, left, right)
        case Comparison(first, rest):
            parts = [f"{_RELATIONS[_known(each, _RELATIONS)]} {_held(part, _SUM, 1)}" for each, part in rest]
            return f"{_held(first, _SUM, 1)} {' '.join(parts)}", _SUM
        case Boolean(operator, values):
            sign = r" \wedge " if operator == "and" else r" \vee "
            return sign.join(_held(each, _PRODUCT) for each in values), _SUM
        case Conditional(test, then, otherwise):
            return _cases(test, then, otherwise)
        case Call():
            found = _notation_of(formula)
            return found if found is not None else _called(formula)
    raise _NotSetError


def _held(formula: Formula, least: int, is_relation: int = 0) -> str:
    """Return the text of an operand, in parentheses where it holds less tight than it must there."""
    text, tightness = _text(formula)
    if is_relation and isinstance(formula, Comparison | Boolean):
        tightness = -1
    return text if tightness >= least else rf"\left({text}\right)"


def _known(word: str, known: Mapping[str, str]) -> str:
    if word not in known:
        raise _NotSetError
    return word


def _escaped(name: str) -> str:
    return name.replace("_", r"\_")


def _number(value: object) -> _Set:
    match value:
        case bool() | None:
            return rf"\mathrm{{{value}}}", _ATOM
        case int() | float() if value < 0:
            return f"-{_number(-value)[0]}", _SUM
        case float() if value in _LOGARITHMS:
            return _LOGARITHMS[value], _PRODUCT
        case int() | float():
            digits, _, power = repr(value).partition("e")
            if not digits[0].isdigit():
                raise _NotSetError
            if power:
                return rf"{digits} \cdot 10^{{{int(power)}}}", _PRODUCT
            return digits.removesuffix(".0"), _ATOM
    raise _NotSetError


def _binary(operator: str, left: Formula, right: Formula) -> _Set:
    match operator:
        case "+" if isinstance(right, Unary) and right.operator == "-":
            return _binary("-", left, right.operand)
        case "+":
            return f"{_held(left, _SUM, 1)} + {_held(right, _PRODUCT)}", _SUM
        case "-":
            return f"{_held(left, _SUM, 1)} - {_held(right, _PRODUCT)}", _SUM
        case "*" if left == right:
            return f"{_held(left, _ATOM)}^{{2}}", _POWER
        case "*" if isinstance(left, Unary):  # (-a) b is -(a b)
            return rf"{_held(left, _SUM)} \cdot {_held(right, _PRODUCT)}", _SUM
        case "*":
            return rf"{_held(left, _PRODUCT)} \cdot {_held(right, _PRODUCT)}", _PRODUCT
        case "@":
            return rf"{_held(left, _POWER)}\,{_held(right, _POWER)}", _PRODUCT
        case "/":
            return rf"\frac{{{_text(left)[0]}}}{{{_text(right)[0]}}}", _PRODUCT
        case "**" if right == Constant(0.5):
            return rf"\sqrt{{{_text(left)[0]}}}", _ATOM
        case "**":
            return f"{_held(left, _ATOM)}^{{{_text(right)[0]}}}", _POWER
        case "//":
            return rf"\left\lfloor \frac{{{_text(left)[0]}}}{{{_text(right)[0]}}} \right\rfloor", _ATOM
        case "%":
            return rf"{_held(left, _POWER)} \bmod {_held(right, _POWER)}", _SUM
        case "&" | "|" if _is_truth(left) and _is_truth(right):
            return _text(Boolean("and" if operator == "&" else "or", (left, right)))
    raise _NotSetError


def _is_truth(formula: Formula) -> bool:
    """Whether a part surely is a truth value: numbers have bits, too."""
    match formula:
        case Comparison() | Boolean() | Unary("not"):
            return True
        case Unary("~", operand):
            return _is_truth(operand)
        case Binary("&" | "|", left, right):
            return _is_truth(left) and _is_truth(right)
        case Call(Attribute(_, name) | Name(name) | Reference(_, name)):
            return name in _COMPARED or name in ("isnan", "isfinite", "isinf", "logical_not")
    return False


def _cases(test: Formula, then: Formula, otherwise: Formula) -> _Set:
    """Return rows of cases; those of what holds otherwise are rows of the same."""
    rows = [rf"{_text(then)[0]} & \text{{if }} {_text(test)[0]}"]
    match otherwise:
        case Conditional(inner, value, rest) | Call(Name("where") | Reference(_, "where"), (inner, value, rest), ()):
            rows.append(_cases(inner, value, rest)[0].removeprefix(_BEGIN).removesuffix(_END))
        case _:
            rows.append(rf"{_text(otherwise)[0]} & \text{{otherwise}}")
    return _BEGIN + r" \\ ".join(rows) + _END, _SUM


def _parts(call: Call) -> tuple[str, tuple[Formula, ...]]:
    """Return the name of what is called, and its arguments: a method's tensor is the first of them."""
    match call.function:
        case Name(name) | Reference(_, name):
            return name, call.arguments
        case Attribute(Reference(Kind.MODULE, _), name):
            return name, call.arguments
        case Attribute(Name(module), name) if module in ("ops", "math") or module.endswith(("_gradients", "_ops")):
            return name, call.arguments
        case Attribute(value, name):
            return name, (value, *call.arguments)
    raise _NotSetError


def _notation_of(call: Call) -> _Set | None:
    """Return a call in the notation that its function has; None where it has none."""
    name, arguments = _parts(call)
    match name, arguments, call.keywords:
        case "div", (left, right), (("rounding_mode", Constant("floor")),):
            return _binary("//", left, right)
        case "div", (left, right), (("rounding_mode", Constant("trunc")),):
            return _applied("trunc", (Binary("/", left, right),))
    if call.keywords:
        return None
    match name, arguments:
        case ("clone" | "contiguous", (value,)) | ("to", (value, _)):  # the same values
            return _text(value)
        case ("complex", (real, imaginary)):
            return rf"{_held(real, _SUM)} + i \cdot {_held(imaginary, _POWER)}", _SUM
        case ("where", (test, then, otherwise)):
            return _cases(test, then, otherwise)
        case ("masked_fill", (value, mask, filled)):
            return _cases(mask, filled, value)
        case ("polygamma", (order, value)):
            return rf"\psi^{{({_text(order)[0]})}}\left({_text(value)[0]}\right)", _POWER
        case ("sum", (value,)):
            return rf"\sum {_held(value, _PRODUCT)}", _SUM
        case ("sum", (value, dim)) | ("sum", (value, dim, _)):
            return rf"\sum_{{{_over(dim)}}} {_held(value, _PRODUCT)}", _SUM
        case ("outer", (left, right)):
            return rf"{_held(left, _POWER)}\,{_held(right, _ATOM)}^{{\mathsf{{T}}}}", _PRODUCT
        case (_, (left, right)) if name in _INFIX:
            return _binary(_INFIX[name], left, right)
        case (_, (left, right)) if name in _COMPARED:
            return _text(Comparison(left, ((_COMPARED[name], right),)))
        case ("logical_not", (value,)):
            return _text(Unary("not", value))
        case (_, (value,)) if name in _NOTATIONS or name in _FUNCTIONS:
            return _applied(name, (value,))
    return None


def _over(dim: Formula) -> str:
    """Return the dimensions below the sign of a sum."""
    items = dim.items if isinstance(dim, List | Tuple) else (dim,)
    return ", ".join(_text(each)[0] for each in items)


def _applied(name: str, arguments: tuple[Formula, ...]) -> _Set:
    """Return a function of one operand, or a fact about it: `self.shape`."""
    (value,) = arguments
    if name in _NOTATIONS:
        notation, tightness, least = _NOTATIONS[name]
        return notation.format(_held(value, least)), tightness
    return rf"{_FUNCTIONS.get(name) or _operator(name)}\left({_text(value)[0]}\right)", _POWER


def _operator(name: str) -> str:
    return rf"\operatorname{{{_escaped(name)}}}"


def _called(call: Call) -> _Set:
    """Return a call of a function without a notation, as a call."""
    name, arguments = _parts(call)
    given = [_text(each)[0] for each in arguments]
    given += [rf"\mathit{{{_escaped(word)}}}={_text(value)[0]}" for word, value in call.keywords]
    return rf"{_operator(name)}\left({', '.join(given)}\right)", _POWER


def _listed(index: Formula) -> str:
    items: tuple[Formula, ...] = index.items if isinstance(index, Tuple) else (index,)
    return ", ".join(_text(each)[0] for each in items)
