"""The computation of special functions: by rational functions, piece by piece, in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Array = Any
Coefficients = tuple[float, ...]

_BLOCK = 8192  # elements; with a handful of temporaries of float64 that is what a core's second-level cache holds


def blockwise(xp: ModuleType, function: Callable[..., Array], out: Array | None, *operands: Array) -> Array:
    """Return `function(xp, *operands)`, elementwise on 1-d operands of one length, for any operands that broadcast.

    On the CPU it is called for one block after another, since an expression of many terms would move each of its
    temporaries through the memory.
    """
    if len(operands) > 1:
        operands = tuple(xp.broadcast_arrays(*map(xp.asarray, operands)))  # CuPy leaves scalars as they are
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


def put_where(xp: ModuleType, result: Array, mask: Array, function: Callable[..., Array], *operands: Array) -> None:
    """Set `result[mask] = function(operands[mask])` on 1-d arrays, computed nowhere else."""
    places = xp.flatnonzero(mask)  # faster to go by than a mask, of which no processor can foresee the next bit
    if places.size == mask.size:
        result[...] = function(*operands)
    elif places.size:
        result[places] = function(*[operand.take(places) for operand in operands])


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
    return result + coefficients[0]
