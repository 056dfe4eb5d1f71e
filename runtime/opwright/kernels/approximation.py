"""How special functions are computed: by rational functions, piece by piece, in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Array = Any
Coefficients = tuple[float, ...]

_BLOCK = 8192  # elements; with a handful of temporaries of float64 that is what a core's second-level cache holds


def blockwise(xp: ModuleType, function: Callable[..., Array], out: Array | None, *operands: Array) -> Array:
    """`function(xp, *operands)`, elementwise on operands of one shape with a dimension, of any operands that broadcast.

    On the CPU a long contiguous array is gone through in blocks, since an expression of many terms would move each
    of its temporaries through the memory.
    """
    if len(operands) > 1:
        operands = tuple(xp.broadcast_arrays(*operands))
    shape, dtype, size = operands[0].shape, operands[0].dtype, operands[0].size
    if not shape:
        result = function(xp, *[xp.reshape(operand, (1,)) for operand in operands]).reshape(())
    elif xp is np and size > _BLOCK and all(operand.flags.c_contiguous for operand in operands):
        result = out if out is not None and out.flags.c_contiguous else np.empty(shape, dtype)
        flat, parts = result.reshape(-1), [operand.reshape(-1) for operand in operands]
        for start in range(0, size, _BLOCK):
            flat[start : start + _BLOCK] = function(xp, *[part[start : start + _BLOCK] for part in parts])
    else:
        result = function(xp, *operands)
    if out is None or result is out:
        return result
    out[...] = result
    return out


def put_where(xp: ModuleType, result: Array, mask: Array, function: Callable[..., Array], *operands: Array) -> None:
    """`result[mask] = function(operands[mask])`, computed nowhere else."""
    count = int(xp.count_nonzero(mask))
    if count == mask.size:
        result[...] = function(*operands)
    elif count:
        result[mask] = function(*[operand[mask] for operand in operands])


def ratio(coefficients: tuple[Coefficients, Coefficients], x: Array) -> Array:
    """A numerator over a denominator, each given by its coefficients, lowest first."""
    numerator, denominator = coefficients
    return polynomial(numerator, x) / polynomial(denominator, x)


def polynomial(coefficients: Coefficients, x: Array) -> Array:
    """The polynomial with these coefficients, lowest first, at `x`."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    return result + coefficients[0]
