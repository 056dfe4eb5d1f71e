"""Functions of each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import opwright
from opwright.array_api.promotion import Operand, iinfo, isdtype, promoted
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip

Unary: TypeAlias = Callable[[Tensor], Tensor]
Binary: TypeAlias = Callable[[Operand, Operand], Tensor]


def _unary(name: str, operator: Callable[..., Any]) -> Unary:
    """Return the function of one array that calls an operator."""

    def function(x: Tensor, /) -> Tensor:
        return operator(x)  # type: ignore[no-any-return]

    return _named(function, name, f"Return `opwright.{operator.__name__}` of each element.")  # type: ignore[no-any-return]


def _binary(name: str, operator: Callable[..., Any]) -> Binary:
    """Return the function of two arrays, or an array and a number, that calls an operator on the promoted operands."""

    def function(x1: Operand, x2: Operand, /) -> Tensor:
        return operator(*promoted(x1, x2))  # type: ignore[no-any-return]

    return _named(function, name, f"Return `opwright.{operator.__name__}` of each pair of elements.")  # type: ignore[no-any-return]


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


abs = _unary("abs", opwright.abs)
acos = _unary("acos", opwright.acos)
acosh = _unary("acosh", opwright.acosh)
asin = _unary("asin", opwright.asin)
asinh = _unary("asinh", opwright.asinh)
atan = _unary("atan", opwright.atan)
atanh = _unary("atanh", opwright.atanh)
bitwise_invert = _unary("bitwise_invert", opwright.bitwise_not)
ceil = _unary("ceil", opwright.ceil)
conj = _unary("conj", opwright.conj)
cos = _unary("cos", opwright.cos)
cosh = _unary("cosh", opwright.cosh)
exp = _unary("exp", opwright.exp)
floor = _unary("floor", opwright.floor)
imag = _unary("imag", opwright.imag)
isfinite = _unary("isfinite", opwright.isfinite)
isinf = _unary("isinf", opwright.isinf)
isnan = _unary("isnan", opwright.isnan)
log = _unary("log", opwright.log)
log10 = _unary("log10", opwright.log10)
log1p = _unary("log1p", opwright.log1p)
log2 = _unary("log2", opwright.log2)
logical_not = _unary("logical_not", opwright.logical_not)
negative = _unary("negative", opwright.negative)
positive = _unary("positive", opwright.positive)
real = _unary("real", opwright.real)
reciprocal = _unary("reciprocal", opwright.reciprocal)
signbit = _unary("signbit", opwright.signbit)
sin = _unary("sin", opwright.sin)
sinh = _unary("sinh", opwright.sinh)
sqrt = _unary("sqrt", opwright.sqrt)
square = _unary("square", opwright.square)
tan = _unary("tan", opwright.tan)
trunc = _unary("trunc", opwright.trunc)

add = _binary("add", opwright.add)
atan2 = _binary("atan2", opwright.atan2)
bitwise_and = _binary("bitwise_and", opwright.bitwise_and)
bitwise_left_shift = _binary("bitwise_left_shift", opwright.bitwise_left_shift)
bitwise_or = _binary("bitwise_or", opwright.bitwise_or)
bitwise_right_shift = _binary("bitwise_right_shift", opwright.bitwise_right_shift)
bitwise_xor = _binary("bitwise_xor", opwright.bitwise_xor)
copysign = _binary("copysign", opwright.copysign)
divide = _binary("divide", opwright.divide)
equal = _binary("equal", opwright.eq)
greater = _binary("greater", opwright.gt)
greater_equal = _binary("greater_equal", opwright.ge)
hypot = _binary("hypot", opwright.hypot)
less = _binary("less", opwright.lt)
less_equal = _binary("less_equal", opwright.le)
logaddexp = _binary("logaddexp", opwright.logaddexp)
logical_and = _binary("logical_and", opwright.logical_and)
logical_or = _binary("logical_or", opwright.logical_or)
logical_xor = _binary("logical_xor", opwright.logical_xor)
maximum = _binary("maximum", opwright.maximum)
minimum = _binary("minimum", opwright.minimum)
multiply = _binary("multiply", opwright.multiply)
nextafter = _binary("nextafter", opwright.nextafter)
not_equal = _binary("not_equal", opwright.ne)
pow = _binary("pow", opwright.pow)
remainder = _binary("remainder", opwright.remainder)
subtract = _binary("subtract", opwright.subtract)


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1 for each element, `x / abs(x)` for complex ones, NaN for NaN."""
    if isdtype(x.dtype, "complex floating"):
        return opwright.where(x == 0, opwright.zeros_like(x), opwright.sgn(x))
    found = opwright.sign(x)
    return opwright.where(opwright.isnan(x), x, found) if isdtype(x.dtype, "real floating") else found


def expm1(x: Tensor, /) -> Tensor:
    """Return `exp(x) - 1` of each element, exact near zero; of complex infinities and zeros what `exp` says."""
    if not isdtype(x.dtype, "complex floating"):
        return opwright.expm1(x)
    is_common = opwright.logical_and(opwright.isfinite(x), x != 0)
    return opwright.where(is_common, opwright.expm1(x), opwright.exp(x) - 1)


def tanh(x: Tensor, /) -> Tensor:
    """Return the hyperbolic tangent of each element; of complex numbers with an infinite real part 1 or -1, with a zero
    of the imaginary part's sign."""
    if not isdtype(x.dtype, "complex floating"):
        return opwright.tanh(x)
    across, along = opwright.real(x), opwright.imag(x)
    one, zero = opwright.ones_like(across), opwright.zeros_like(along)
    limit = opwright.complex(opwright.copysign(one, across), opwright.copysign(zero, along))
    is_limit = opwright.logical_and(opwright.isinf(across), opwright.isfinite(along))
    return opwright.where(is_limit, limit, opwright.tanh(x))


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Return the quotient of each pair of elements rounded down; of floating-point numbers, what rounding their
    quotient says: an infinite one over a finite one is infinite, where `opwright.floor_divide` says NaN as Python."""
    first, second = promoted(x1, x2)
    if isdtype(first.dtype, "integral"):
        return opwright.floor_divide(first, second)
    found = opwright.floor_divide(first, second)
    quotient = opwright.div(first, second)
    is_special = opwright.logical_or(opwright.isinf(first), opwright.isinf(second))
    return opwright.where(is_special, opwright.trunc(quotient), found)


def round(x: Tensor, /) -> Tensor:
    """Return the nearest integer of each element, the even one of two; of both parts of a complex number."""
    if isdtype(x.dtype, "complex floating"):
        return opwright.complex(opwright.round(opwright.real(x)), opwright.round(opwright.imag(x)))
    return opwright.round(x)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Return each element held between `min` and `max`, which broadcast; None is no limit. The dtype is that of `x`."""
    found = x
    if min is not None:
        found = maximum(found, _limit(min, x))
    if max is not None:
        found = minimum(found, _limit(max, x))
    return found.clone() if found is x else found.to(x.dtype)


def _limit(limit: Operand, x: Tensor) -> Operand:
    """Return a limit of integers that are held by it: a number beyond the dtype's range becomes the range's end."""
    if isinstance(limit, Tensor | complex) or not isdtype(x.dtype, "integral"):
        return limit
    info = iinfo(x.dtype)
    if math.isnan(limit):
        return limit
    return info.max if limit > info.max else info.min if limit < info.min else limit
