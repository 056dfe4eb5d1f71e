"""Definitions of functions in formulas of ATen, by which pages show what they compute. A test compares them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from opwright_codegen.formula.ast import Attribute, Call, Formula, Name, Reference, rewrite
from opwright_codegen.formula.parser import parse
from opwright_codegen.source import Source, Text

__all__ = ["DEFINITIONS", "expanded"]

# Parameters, `_` where one says nothing about values, and the formula.
DEFINITIONS: Final[Mapping[str, tuple[str, str]]] = {
    "extremum_backward": (
        "grad self other loses",
        "where(self == other, grad / 2, where(loses, 0, grad))",
    ),
    "extremum_forward": (
        "self self_t other other_t wins",
        "where(self == other, (self_t + other_t) / 2, where(wins, self_t, other_t))",
    ),
    "first_factor_gradient": ("grad other _ alpha=1", "alpha * (grad @ other.mH)"),
    "second_factor_gradient": ("grad other _ alpha=1", "alpha * (other.mH @ grad)"),
    "first_batch_gradient": ("grad other alpha=1", "alpha * (grad @ other.mH)"),
    "second_batch_gradient": ("grad other alpha=1", "alpha * (other.mH @ grad)"),
    "pow_self_backward": (
        "grad self exponent",
        "where(exponent == 0, 0, grad * (exponent * self ** (exponent - 1)).conj())",
    ),
    "real_part_for": ("_ value", "value"),
    "on_device": ("value _", "value"),
    "gradient_of_softmax": ("grad result dim", "result * (grad - (grad * result).sum(dim))"),
    "gradient_of_log_softmax": ("grad result dim", "grad - exp(result) * grad.sum(dim)"),
    "tanh_backward": ("grad output", "grad * (1 - output ** 2).conj()"),
    "sigmoid_backward": ("grad output", "grad * (output * (1 - output)).conj()"),
    "threshold_backward": ("grad self threshold", "where(self > threshold, grad, 0)"),
    "hardtanh_backward": ("grad self low high", "where((self > low) & (self < high), grad, 0)"),
    "hardshrink_backward": ("grad self lambd", "where((self >= -lambd) & (self <= lambd), 0, grad)"),
    "softshrink_backward": ("grad self lambd", "where((self >= -lambd) & (self <= lambd), 0, grad)"),
    "hardsigmoid_backward": ("grad self", "where((self > -3) & (self < 3), grad / 6, 0)"),
    "hardswish_backward": (
        "grad self",
        "where(self <= -3, 0, where(self < 3, grad * (self / 3 + 1 / 2), grad))",
    ),
    "leaky_relu_backward": ("grad self slope _", "where(self > 0, grad, grad * slope)"),
    "silu_backward": ("grad self", "grad * (sigmoid(self) * (1 + self * (1 - sigmoid(self)))).conj()"),
    "softplus_backward": (
        "grad self beta threshold",
        "where(beta * self > threshold, grad, grad / (1 + exp(-beta * self)))",
    ),
    "log_sigmoid_backward": ("grad self _", "grad / (1 + exp(self))"),
}


def expanded(formula: Formula) -> Formula:
    """Return a formula with what is defined here in place of calls of it."""
    return rewrite(formula, _definition)


def _definition(part: Formula) -> Formula | None:
    if not isinstance(part, Call) or part.keywords:
        return None
    match part.function:
        case Name(name) | Reference(_, name) | Attribute(Name(_) | Reference(_, _), name) if name in DEFINITIONS:
            return _filled(name, part.arguments)
    return None


def _filled(name: str, arguments: tuple[Formula, ...]) -> Formula | None:
    """Return a definition with these arguments; None where they are not as many as it has parameters."""
    words, text = DEFINITIONS[name]
    given = dict(zip((word.partition("=")[0] for word in words.split()), arguments, strict=False))
    for word in words.split()[len(arguments) :]:
        parameter, has_default, default = word.partition("=")
        if not has_default:
            return None
        given[parameter] = _parsed(default)
    if len(arguments) > len(words.split()):
        return None
    filled = {parameter: expanded(value) for parameter, value in given.items()}
    return rewrite(_parsed(text), lambda part: filled.get(part.name) if isinstance(part, Name) else None)


@cache
def _parsed(text: str) -> Formula:
    return parse(Text(text, Source("<definition>", text).whole()))
