"""NumPy's ufuncs on Tensors: the operator with the same meaning, which records gradients, else NumPy on the arrays.

NumPy's rules choose the dtype that a ufunc computes in (`numpy.ufunc.resolve_dtypes`), numbers included.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from opwright.methods.numpy_values import Computation, mapped
from opwright.namespaces import aten
from opwright.symbolic.numbers import SymFloat, SymInt
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.nested_lists import array_of
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["REFUSALS", "Unmapped", "as_operand", "call_ufunc", "write_out"]

# Errors of operators after which NumPy computes a call, or says what is wrong with it.
REFUSALS: Final = (TypeError, ValueError, RuntimeError, ArithmeticError, IndexError)
# The operator for each ufunc, and whether its second operand may be a number, as the schema says. Other operators take
# numbers as Tensors without dimensions.
_WITH_NUMBERS: Final = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "floor_divide": "floor_divide",
    "remainder": "remainder", "fmod": "fmod", "float_power": "float_power", "power": "pow", "copysign": "copysign",
    "less": "less", "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater_equal", "equal": "eq",
    "not_equal": "not_equal", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
}  # fmt: skip
_RENAMED: Final = {"absolute": "abs", "invert": "bitwise_not", "rint": "round", "conjugate": "conj"}
_SAME: Final = (
    "negative", "positive", "sqrt", "square", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
    "logaddexp", "logaddexp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh",
    "arcsinh", "arccosh", "arctanh", "hypot", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "trunc", "sign",
    "signbit", "nextafter", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not",
    "matmul", "deg2rad", "rad2deg", "gcd", "lcm", "heaviside",
)  # fmt: skip
# Numbers, and the type whose rules of promotion hold for each.
_NUMBERS: Final[dict[type, type]] = {int: int, float: float, complex: complex, SymInt: int, SymFloat: float}
_OPERATORS: Final = {**_WITH_NUMBERS, **_RENAMED, **dict(zip(_SAME, _SAME, strict=True))}


class Unmapped(Exception):
    """A call that no operator computes as NumPy does."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what a ufunc gives for Tensors: Tensors, or the arrays or Tensors of `out`.

    Without options except `out` the operator with the same meaning computes it. Raises RuntimeError if NumPy would have
    to compute what has to be recorded, and the errors of NumPy.
    """
    written = options.pop("out", ())
    if method == "at":
        return _write_at(ufunc, inputs, options)
    refused: Exception | None = None
    if method == "__call__" and not options:
        try:
            return write_out(written[0] if written else None, _by_operator(ufunc, inputs))
        except Unmapped:
            pass
        except REFUSALS as error:
            refused = error
    if written:
        options["out"] = written
    return Computation().run(getattr(ufunc, method), inputs, options, refused)


def _write_at(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    numpy = Computation()
    target = numpy.buffer(inputs[0])
    ufunc.at(target, *mapped(inputs[1:], numpy.read), **options)
    numpy.write()


def _by_operator(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """Return the result of the ufunc's operator in NumPy's dtype. Raises Unmapped if the ufunc has no operator."""
    name = ufunc.__name__
    beside = next((each for each in inputs if isinstance(each, Tensor)), None)
    if beside is None or name not in _OPERATORS or getattr(np, name, None) is not ufunc:
        raise Unmapped
    given = [each if isinstance(each, Tensor) or type(each) in _NUMBERS else array_of(each) for each in inputs]
    *dtypes, wanted = _loop(ufunc, tuple([_NUMBERS.get(type(each)) or each.dtype for each in given]))
    if name == "power" and wanted.kind in "iu":  # integers: NumPy refuses negative exponents
        raise Unmapped
    is_plain = name in _WITH_NUMBERS
    result = aten[_OPERATORS[name]](
        *[as_operand(each, dtype, None if is_plain else beside) for each, dtype in zip(given, dtypes, strict=True)]
    )
    return result if result.dtype == wanted else result.to(wanted)


@functools.cache
def _loop(ufunc: np.ufunc, given: tuple[DType | type, ...]) -> tuple[DType, ...]:
    """Return the dtypes of the operands and of the result of a ufunc of one result. Raises TypeError without a loop."""
    return ufunc.resolve_dtypes((*given, None))


def as_operand(value: Any, dtype: DType, beside: Tensor | None) -> Any:
    """Return an operand in `dtype`: a number as a Tensor like `beside`, if that is given.

    Raises OverflowError for a number that the dtype does not hold.
    """
    if isinstance(value, Tensor):
        return value if value.dtype == dtype else value.to(dtype)
    if isinstance(value, np.ndarray):
        return wrap(value.astype(dtype, copy=False))
    if type(value) is int and dtype.kind in "iu":
        np.asarray(value, dtype)
    return value if beside is None else beside.new_full((), value, dtype=dtype)


def write_out(target: Any, value: Any, *, is_exact: bool = False) -> Any:
    """Return `value`, or `target` after writing `value` to it: broadcast and cast, unless `is_exact`.

    Raises Unmapped if the value does not fit the target's shape and dtype.
    """
    if target is None:
        return value
    shape, dtype = tuple(target.shape), target.dtype
    fits = value.shape == shape or (not is_exact and np.broadcast_shapes(value.shape, shape) == shape)
    if not fits or not np.can_cast(value.dtype, dtype, "equiv" if is_exact else "same_kind"):
        raise Unmapped
    if isinstance(target, Tensor):
        target.copy_(value)  # (counts in its version)
    else:
        target[...] = Computation().read(value)
    return target
