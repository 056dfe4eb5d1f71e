"""The ufuncs that NumPy and CuPy both have, with one output. A static table: the generator imports neither."""

__all__ = ["UFUNCS"]

_UNARY = (
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh",
    "atan", "atanh", "bitwise_invert", "bitwise_not", "cbrt", "ceil", "conj", "conjugate", "cos", "cosh", "deg2rad",
    "degrees", "exp", "exp2", "expm1", "fabs", "floor", "invert", "isfinite", "isinf", "isnan", "log", "log10", "log1p",
    "log2", "logical_not", "negative", "positive", "rad2deg", "radians", "reciprocal", "rint", "sign", "signbit", "sin",
    "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY = (
    "add", "arctan2", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "copysign", "divide", "equal", "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater",
    "greater_equal", "heaviside", "hypot", "lcm", "ldexp", "left_shift", "less", "less_equal", "logaddexp",
    "logaddexp2", "logical_and", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "mod", "multiply",
    "nextafter", "not_equal", "pow", "power", "remainder", "right_shift", "subtract", "true_divide",
)  # fmt: skip

# How many operands each takes.
UFUNCS = dict.fromkeys(_UNARY, 1) | dict.fromkeys(_BINARY, 2)
