"""Sums of which one term is a product: `add`, `sub` and `rsub` with `alpha`, `addcmul`, `lerp`.

PyTorch rounds such a sum once, so that it is finite where the product alone is too large for the dtype. Here product
and sum are each rounded, as NumPy does it, but where the product is too large: then its halves are added one by one,
none of which is too large if the sum is not. Every kernel gets arrays already promoted to the dtype it computes in;
`out`, when not None, is an array of that dtype and of the broadcast shape that receives the result.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import wrapped_scalar
from opwright_core.core import compiled

Array = Any
Number = complex  # any of Python's


@compiled
def add_scaled(xp: ModuleType, self: Array, other: Array, alpha: Number, out: Array | None = None) -> Array:
    """Return `self + alpha * other`."""
    return add_product(xp, self, other, wrapped_scalar(alpha, self.dtype), out, grows=not abs(alpha) <= 1)


@compiled
def addcmul(
    xp: ModuleType, self: Array, tensor1: Array, tensor2: Array, value: Number, out: Array | None = None
) -> Array:
    """Return `self + value * tensor1 * tensor2`."""
    factor = tensor1 if value == 1 else tensor1 * wrapped_scalar(value, self.dtype)
    return add_product(xp, self, factor, tensor2, out)


@compiled
def lerp(xp: ModuleType, self: Array, end: Array, weight: Array, out: Array | None = None) -> Array:
    """Go from `self` to `end` by `weight`: computed from the nearer of the two, so that weights 0 and 1 give them
    exactly. A weight that is a number comes as it was passed."""

    def distance_anew() -> Array:
        return end - self

    distance = distance_anew()
    if isinstance(weight, int | float | complex) and not isinstance(weight, np.generic):
        if abs(weight) < 0.5:
            return add_product(xp, self, distance, self.dtype.type(weight), out, distance_anew, grows=False)
        grows = not abs(1 - weight) <= 1
        return add_product(xp, end, distance, -self.dtype.type(1 - weight), out, distance_anew, grows)
    near = xp.absolute(weight) < 0.5
    return add_product(xp, xp.where(near, self, end), distance, xp.where(near, weight, weight - 1), out)


def add_product(
    xp: ModuleType,
    self: Array,
    first: Array,
    second: Array,
    out: Array | None = None,
    anew: Callable[[], Array] | None = None,
    grows: bool = True,
) -> Array:
    """Return `self + first * second`, infinite only where the sum is. With `anew`, which computes it again, `first` has
    the product's shape and may be overwritten. Unless it `grows` no product is larger than `first`."""
    scratch = first if anew is not None and first.ndim else None
    if not grows or xp is not np or self.dtype.kind != "f":
        product = xp.multiply(first, second, out=scratch)
    else:
        try:
            product = _finite_product(first, second, scratch)
        except FloatingPointError:
            return _add_halves(self, first if anew is None else anew(), second, out)
    return xp.add(self, product, out=or_reused(out, product, self))


@np.errstate(over="raise")
def _finite_product(first: Array, second: Array, out: Array | None) -> Array:
    return np.multiply(first, second, out=out)


def _add_halves(self: Array, first: Array, second: Array, out: Array | None) -> Array:
    """Return `self + first * second`, where a product is infinite by its halves; warn of what the sum is alone."""
    half = first * self.dtype.type(0.5) * second
    by_halves = self + half + half
    with np.errstate(all="ignore"):
        product = np.multiply(first, second)
        plain = np.add(self, product)
    return _where(np.isfinite(product), plain, by_halves, out)


def _where(condition: Array, first: Array, second: Array, out: Array | None) -> Array:
    if out is None:
        return np.where(condition, first, second)
    np.copyto(out, second)
    np.copyto(out, first, where=condition)
    return out


def or_reused(out: Array | None, temporary: Array, other: Array) -> Array | None:
    """Return `out`, or a temporary of the result's shape and order: a new array costs more than the arithmetic."""
    if out is None and temporary.ndim and other.shape == temporary.shape and other.strides == temporary.strides:
        return temporary
    return out
