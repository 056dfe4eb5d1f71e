"""The functions that expressions may use: in NumPy, in C, over tensors, and their derivatives.

Texts are formulas over the operands x, y and z. In derivatives r is the result, g the gradient or tangent, and c(…)
stands for the conjugate in gradients, for nothing in tangents. A derivative is linear in g.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from opwright_codegen.records import dataclass

__all__ = ["FUNCTIONS", "OPERATORS", "UNARY", "Function", "Result"]

ZERO: Final = "0"  # a derivative that is zero wherever there is one
NONE: Final = ""  # an operand that has none: what it says is true or false


class Result(Enum):
    """The results of functions: values of the operands' dtype, of floats alone, or whether something holds."""

    SAME = "the operands' dtype"
    FLOAT = "floats"
    TRUTH = "bool"
    BITS = "bits of integers, or whether something holds"


@dataclass(frozen=True, slots=True)
class Function:
    """A function: `array` is its text over NumPy, `tensor` that over tensors, `derivatives` are those by each operand.

    `kinds` are the kinds of dtypes that it computes: b, i, f, c. `is_libm`: C calls libm, one element at a time.
    """

    name: str
    result: Result
    kinds: str
    array: str
    tensor: str
    derivatives: tuple[str, ...]
    is_libm: bool = False
    module: str = ""  # of `opwright_kernels`, where NumPy has no such function

    @property
    def count(self) -> int:
        """Return the number of operands."""
        return len(self.derivatives)


def _unary(name: str, derivative: str, *, kinds: str = "", tensor: str = "", array: str = "", libm: bool = True,
           result: Result = Result.FLOAT, module: str = "") -> Function:  # fmt: skip
    text = tensor or f"x.{name}()"
    kinds = kinds or (
        "fc" if "c(" in derivative else "f"
    )  # what has a conjugate in its derivative takes complex numbers
    return Function(name, result, kinds, array or f"xp.{name}(x)", text, (derivative,), libm, module)


def _binary(name: str, first: str, second: str, *, kinds: str = "f", tensor: str = "", array: str = "",
            libm: bool = True, result: Result = Result.FLOAT) -> Function:  # fmt: skip
    return Function(name, result, kinds, array or f"xp.{name}(x, y)", tensor or f"x.{name}(y)", (first, second), libm)


def _operator(sign: str, name: str, first: str, second: str, kinds: str, result: Result = Result.SAME) -> Function:
    return Function(name, result, kinds, f"x {sign} y", f"x {sign} y", (first, second))


def _truth(name: str, text: str = "") -> Function:
    array = f"xp.{name}(x)"
    return Function(name, Result.TRUTH, "bif", array, text or f"x.{name}()", (NONE,))


_SHARE = "where(x == y, g / 2, where({}, 0, g))"  # equal operands share a gradient, as in PyTorch
_LEFT_OUT = "((x != x) & (y == y))"  # x is NaN and y is a number, which is the result
_ALL: Final = (
    # arithmetic
    _operator("+", "add", "g", "g", "bifc"),
    _operator("-", "subtract", "g", "-g", "ifc"),
    _operator("*", "multiply", "g * c(y)", "g * c(x)", "bifc"),
    _operator("/", "divide", "g / c(y)", "-g * c(x / (y * y))", "fc", Result.FLOAT),
    _operator("//", "floor_divide", ZERO, ZERO, "if"),
    _operator("%", "remainder", "g", "-g * x.div(y, rounding_mode='floor')", "if"),
    Function("power", Result.SAME, "if", "xp.power(x, y)", "x ** y",
             ("where(y == 0, 0, g * (y * x ** (y - 1)))", "where((x == 0) & (y >= 0), 0, g * r * x.log())"), True),
    Function("negative", Result.SAME, "ifc", "-x", "-x", ("-g",)),
    Function("positive", Result.SAME, "ifc", "+x", "x", ("g",)),
    _unary("square", "g * c(2 * x)", kinds="ifc", result=Result.SAME, libm=False),
    _unary("reciprocal", "-g * c(r * r)", kinds="fc", libm=False),
    _unary("abs", "g * x.sgn()", kinds="bif", result=Result.SAME, libm=False),
    _unary("sign", ZERO, kinds="if", result=Result.SAME, libm=False),
    _binary("fmod", "g", "-g * (x / y).trunc()", kinds="if", result=Result.SAME),
    # choices
    _binary("maximum", _SHARE.format("x < y"), _SHARE.format("x > y"), kinds="bif", result=Result.SAME, libm=False),
    _binary("minimum", _SHARE.format("x > y"), _SHARE.format("x < y"), kinds="bif", result=Result.SAME, libm=False),
    _binary("fmax", _SHARE.format(f"(x < y) | {_LEFT_OUT}"), _SHARE.format("(x > y) | (y != y)"), kinds="bif",
            result=Result.SAME, libm=False),
    _binary("fmin", _SHARE.format(f"(x > y) | {_LEFT_OUT}"), _SHARE.format("(x < y) | (y != y)"), kinds="bif",
            result=Result.SAME, libm=False),
    Function("clamp", Result.SAME, "if", "xp.minimum(xp.maximum(x, y), z)", "minimum(maximum(x, y), z)",
             ("where((x < y) | (x > z), 0, where(((x == y) | (x == z)) & (y < z), g / 2, g))",
              "where((x < y) & (y <= z), g, where((x == y) & (y < z), g / 2, 0))",
              "where((y > z) | ((x > z) & (y <= z)), g, where((x == z) & (y < z), g / 2, 0))")),
    Function("where", Result.SAME, "bifc", "xp.where(x, y, z)", "where(x, y, z)",
             (NONE, "where(x, g, 0)", "where(x, 0, g)")),
    _unary("relu", "where(x <= 0, 0, g)", kinds="if", result=Result.SAME, array="xp.maximum(x, 0)", libm=False),
    # rounding
    *(_unary(name, ZERO, libm=False) for name in ("floor", "ceil", "trunc")),
    _unary("round", ZERO, array="xp.rint(x)", libm=False),
    _binary("copysign", "where(x == 0, 0, g * (r / x))", ZERO, libm=False),
    # exponentials and logarithms
    _unary("exp", "g * c(r)", libm=False),
    _unary("exp2", "g * c(0.6931471805599453 * r)"),
    _unary("expm1", "g * c(r + 1)"),
    _unary("log", "g / c(x)", libm=False),
    _unary("log2", "g / c(0.6931471805599453 * x)"),
    _unary("log10", "g / c(2.302585092994046 * x)"),
    _unary("log1p", "g / c(x + 1)"),
    _unary("sqrt", "g / c(2 * r)", libm=False),
    _unary("rsqrt", "-g * c(r * r * r / 2)", array="1 / xp.sqrt(x)", libm=False),
    _unary("cbrt", "g / (3 * r * r)", tensor="x.sign() * x.abs() ** (1 / 3)"),
    _unary("sigmoid", "g * c(r * (1 - r))", array="1 / (1 + xp.exp(-x))", libm=False),
    _binary("logaddexp", "g / (1 + (y - x).exp())", "g / (1 + (x - y).exp())"),
    _binary("hypot", "g * (x / r)", "g * (y / r)"),
    # circular and hyperbolic functions
    _unary("sin", "g * c(x.cos())"),
    _unary("cos", "-g * c(x.sin())"),
    _unary("tan", "g * c(1 + r * r)"),
    _unary("asin", "g * c((1 - x * x).rsqrt())", array="xp.arcsin(x)"),
    _unary("acos", "-g * c((1 - x * x).rsqrt())", array="xp.arccos(x)"),
    _unary("atan", "g / c(x * x + 1)", array="xp.arctan(x)"),
    _unary("sinh", "g * c(x.cosh())"),
    _unary("cosh", "g * c(x.sinh())"),
    _unary("tanh", "g * c(1 - r * r)", libm=False),
    _unary("asinh", "g * c((x * x + 1).rsqrt())", array="xp.arcsinh(x)"),
    _unary("acosh", "g * c((x * x - 1).rsqrt())", array="xp.arccosh(x)"),
    _unary("atanh", "g / c(1 - x * x)", array="xp.arctanh(x)"),
    _binary("atan2", "g * y / (x * x + y * y)", "-g * x / (x * x + y * y)", array="xp.arctan2(x, y)"),
    # special functions
    _unary("erf", "1.1283791670955126 * g * (-(x * x)).exp()", module="special_functions.special", libm=False),
    _unary("erfc", "-1.1283791670955126 * g * (-(x * x)).exp()", module="special_functions.special"),
    _unary("lgamma", "g * x.digamma()", module="special_functions.gamma"),
    # whether something holds
    *(Function(name, Result.TRUTH, "bifc", f"x {sign} y", f"x {sign} y", (NONE, NONE))
      for sign, name in (("==", "equal"), ("!=", "not_equal"))),
    *(Function(name, Result.TRUTH, "bif", f"x {sign} y", f"x {sign} y", (NONE, NONE))
      for sign, name in (("<", "less"), ("<=", "less_equal"), (">", "greater"), (">=", "greater_equal"))),
    _truth("isnan"), _truth("isinf"), _truth("isfinite"), _truth("signbit"),
    # bits
    *(Function(name, Result.BITS, "bi", f"x {sign} y", f"x {sign} y", (NONE, NONE))
      for sign, name in (("&", "bitwise_and"), ("|", "bitwise_or"), ("^", "bitwise_xor"))),
    Function("invert", Result.BITS, "bi", "~x", "~x", (NONE,)),
    *(Function(name, Result.BITS, "i", f"x {sign} y", f"x {sign} y", (NONE, NONE))
      for sign, name in (("<<", "left_shift"), (">>", "right_shift"))),
)  # fmt: skip

FUNCTIONS: Final[Mapping[str, Function]] = {function.name: function for function in _ALL}
# By the sign that stands between operands, and before one.
OPERATORS: Final[dict[str, str]] = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "remainder", "**": "power",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "<<": "left_shift", ">>": "right_shift", "==": "equal",
    "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip
UNARY: Final[dict[str, str]] = {"-": "negative", "+": "positive", "~": "invert"}
