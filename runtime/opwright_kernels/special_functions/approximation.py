"""The computation of special functions: by rational functions, piece by piece, in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.layouts import broadcast_shapes

Array = Any
Coefficients = tuple[float, ...]

_BLOCK = 8192  # elements; with a handful of temporaries of float64 that is what a core's second-level cache holds
_WIDE_BLOCK = 32768  # elements of float32, for functions with few temporaries
_FEW = 48  # elements that Python computes one by one in less time than NumPy takes for a dozen of its calls


def blockwise(xp: ModuleType, function: Callable[..., Array], out: Array | None, *operands: Array) -> Array:
    """Return `function(xp, *operands)`, elementwise on 1-d operands of one length, for any operands that broadcast.

    On the CPU it is called for one block after another, since an expression of many terms would move each of its
    temporaries through the memory.
    """
    if len(operands) > 1:
        arrays = [xp.asarray(operand) for operand in operands]
        shape = broadcast_shapes([array.shape for array in arrays])  # NumPy's own takes no more than 32 dimensions
        operands = tuple([array if array.shape == shape else xp.broadcast_to(array, shape) for array in arrays])
    elif out is None and operands[0].ndim > 1 and operands[0].flags.f_contiguous:
        return blockwise(xp, function, None, operands[0].ravel(order="F")).reshape(operands[0].shape, order="F")
    shape = operands[0].shape
    result = out if out is not None and out.flags.c_contiguous else xp.empty(shape, operands[0].dtype)
    flat, parts = result.reshape(-1), [xp.ascontiguousarray(operand).reshape(-1) for operand in operands]
    step = _BLOCK if xp is np else max(1, flat.size)
    for start in range(0, flat.size, step):
        flat[start : start + step] = function(xp, *[part[start : start + step] for part in parts])
    if out is not None and result is not out:
        out[...] = result
        return out
    return result


def in_rows(xp: ModuleType, function: Callable[..., Array], *operands: Array, axis: int = 0) -> Array:
    """Return what `function` gives for operands of one length along an axis, which its result has too: on the CPU for
    some of it at a time, since what `function` makes on its way is as large as what it is given."""
    length = operands[0].shape[axis] if operands[0].ndim > 1 else 0
    if xp is not np or length < 2 or operands[0].size <= 2 * _WIDE_BLOCK:
        return function(*operands)
    step = max(1, _WIDE_BLOCK * length // operands[0].size)
    rows = [(slice(None),) * axis + (slice(start, start + step),) for start in range(0, length, step)]
    return np.concatenate([function(*[operand[part] for operand in operands]) for part in rows], axis=axis)


def in_double(xp: ModuleType, function: Callable[..., Array], out: Array | None, *operands: Array) -> Array:
    """Return what `blockwise` does, of a function that is given, and gives, float64; rounded to the operands' dtype."""

    def computed(xp: ModuleType, *parts: Array) -> Array:
        return function(xp, *[part.astype("float64", copy=False) for part in parts])

    return blockwise(xp, computed, out, *operands)


def filled_in_blocks(
    xp: ModuleType, fill: Callable[[ModuleType, Array, Array], None], self: Array, out: Array | None
) -> Array:
    """Return what `fill(xp, operand, result)` writes for one operand, elementwise: in its strides where `out` is None.

    `fill` is given arrays of one shape, which may be one memory and are never 0-dim. On the CPU it is called for one
    block of elements after another.
    """
    result = xp.empty_like(self) if out is None else out
    if xp is np and self.ndim and self.size <= _WIDE_BLOCK:
        fill(xp, self, result)
        return result
    operand, flat = (self, result) if self.ndim == 1 else _in_one_row(xp, self, result)
    step = _WIDE_BLOCK if xp is np else max(1, flat.size)
    for start in range(0, flat.size, step):
        fill(xp, operand[start : start + step], flat[start : start + step])
    if flat is not result and not xp.may_share_memory(flat, result):
        result[...] = flat.reshape(result.shape)
    return result


def _in_one_row(xp: ModuleType, operand: Array, result: Array) -> tuple[Array, Array]:
    """Return both as 1-d arrays of like order: views where they lie densely and alike, else copies."""
    if operand.flags.c_contiguous and result.flags.c_contiguous:
        return operand.reshape(-1), result.reshape(-1)
    if operand.flags.f_contiguous and result.flags.f_contiguous:
        return operand.T.reshape(-1), result.T.reshape(-1)
    return operand.reshape(-1), xp.empty(result.size, result.dtype)


def one_by_one(xp: ModuleType, function: Callable[[float], float], self: Array, out: Array | None) -> Array | None:
    """Return a function of Python's floats of each element: None on a GPU, where there are more than a few elements,
    and where the function raises ValueError or OverflowError."""
    if xp is not np or self.size > _FEW:
        return None
    try:
        result = np.fromiter(map(function, self.ravel().tolist()), self.dtype, self.size).reshape(self.shape)
    except (ValueError, OverflowError):
        return None
    if out is None:
        return result
    out[...] = result
    return out


def put_where(xp: ModuleType, result: Array, mask: Array, function: Callable[..., Array], *operands: Array) -> None:
    """Set `result[mask] = function(operands[mask])` on 1-d arrays, computed nowhere else."""
    positions = xp.flatnonzero(mask)  # faster to go by than a mask, of which no processor can foresee the next bit
    if positions.size == mask.size:
        result[...] = function(*operands)
    elif positions.size:
        result[positions] = function(*[operand.take(positions) for operand in operands])


def ratio(coefficients: tuple[Coefficients, Coefficients], x: Array) -> Array:
    """Return a numerator over a denominator, each given by its coefficients, lowest first."""
    numerator, denominator = coefficients
    return polynomial(numerator, x) / polynomial(denominator, x)


def polynomial(coefficients: Coefficients, x: Array) -> Array:
    """Return the polynomial with these coefficients, lowest first, at `x`."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result
