"""Results with symbolic sizes beside real ones: what their symbols are there, and the results at those values."""

from __future__ import annotations

from typing import Any

from opwright.symbolic import ShapeEnv
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.tensors.tensor import Tensor


def bound_by(env: ShapeEnv, symbolic: Any, real: Any) -> dict[str, Any]:
    """Return the value of each symbol: its hint, or what stands at its position in the real result."""
    values = {name: symbol.hint for name, symbol in env.symbols.items() if symbol.hint is not None}
    _bind(values, symbolic, real)
    return values


def _bind(values: dict[str, Any], symbolic: Any, real: Any) -> None:
    if isinstance(symbolic, Tensor):
        if isinstance(real, Tensor) and symbolic.dim() == real.dim():
            _bind(values, tuple(symbolic.shape), tuple(real.shape))
    elif isinstance(symbolic, list | tuple):
        for one, other in zip(symbolic, real, strict=False):
            _bind(values, one, other)
    elif isinstance(symbolic, SymInt | SymFloat) and symbolic.origin.is_Symbol:
        values.setdefault(symbolic.origin.name, real)
    elif isinstance(symbolic, SymBool):
        for symbol in symbolic.origin.free_symbols:
            values.setdefault(symbol.name, int(real))


def at(value: Any, values: dict[str, Any]) -> Any:
    """Return a number at the values of its symbols."""
    return value.env.evaluate(value, values) if is_symbolic(value) else value


def layout(tensor: Tensor, values: dict[str, Any]) -> Any:
    """Return shape, strides and offset at the values of their symbols. NumPy's empty slices stay where their base
    begins, so that of an empty tensor says nothing."""
    shape, strides = (tuple(at(size, values) for size in each) for each in (tensor.shape, tensor.stride()))
    return shape, strides, 0 if 0 in shape else at(tensor.storage_offset(), values)


def described(result: Any, values: dict[str, Any]) -> Any:
    """Return layout and dtype of tensors; the values of numbers."""
    if isinstance(result, Tensor):
        return (*layout(result, values), result.dtype)
    if isinstance(result, list | tuple):
        return [described(each, values) for each in result]
    return at(result, values)
