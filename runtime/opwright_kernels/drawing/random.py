"""Random numbers from a Generator, which draws what PyTorch draws from the same seed.

On other devices the numbers are drawn on the CPU and moved. `self` says shape and dtype; `out`, when not None,
receives the numbers.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import COMPLEX, float32, float64, int64, to_real
from opwright_core.random_state.generator import Generator, source_for
from opwright_kernels.moving.copying import new_or
from opwright_kernels.rules.random import largest_integer

Array = Any
Host = np.ndarray[Any, Any]


def uniform(
    xp: ModuleType, self: Array, from_: float, to: float, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw numbers in [from, to)."""
    source = source_for(self, generator)
    if self.dtype in COMPLEX:
        parts = source.uniform(2 * self.size, to_real(self.dtype), from_, to)
        return placed(xp, self, parts.view(self.dtype), out)
    target = new_or(xp, self, out)
    if _is_drawn_to(target):
        source.uniform(self.size, self.dtype, from_, to, target.reshape(-1))
        return target
    return placed(xp, self, source.uniform(self.size, self.dtype, from_, to), target)


def normal(
    xp: ModuleType, self: Array, mean: float, std: float, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw normally distributed numbers; complex ones have half the variance in each part."""
    source = source_for(self, generator)
    if self.dtype in COMPLEX:
        parts = source.normal(2 * self.size, to_real(self.dtype), mean, std / 2**0.5)
        return placed(xp, self, parts.view(self.dtype), out)
    target = new_or(xp, self, out)
    if _is_drawn_to(target):
        source.normal(self.size, self.dtype, mean, std, target.reshape(-1))
        return target
    if target.flags.c_contiguous:
        return placed(xp, self, source.normal(self.size, self.dtype, mean, std), target)
    # Where the elements have gaps PyTorch draws them one by one, as it does for fewer than 16.
    few = [source.normal(min(15, self.size - i), self.dtype, mean, std) for i in range(0, self.size, 15)]
    return placed(xp, self, np.concatenate(few) if few else np.empty(0, self.dtype), target)


def random_between(
    xp: ModuleType, self: Array, from_: int, to: int | None, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw integers in [from, to); up to the largest that the dtype counts to where `to` is None."""
    end = largest_integer(self.dtype) + 1 if to is None else to
    return placed(xp, self, source_for(self, generator).integers(self.size, from_, end), out)


def random_below(xp: ModuleType, self: Array, to: int, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw integers in [0, to)."""
    return random_between(xp, self, 0, to, generator, out)


def random_of_dtype(xp: ModuleType, self: Array, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw integers from 0 to the largest that the dtype counts to."""
    source = source_for(self, generator)
    words = source.raw64(self.size) if self.dtype in (float64, int64) else source.raw32(self.size).astype(np.uint64)
    return placed(xp, self, words % np.uint64(largest_integer(self.dtype) + 1), out)


def bernoulli(xp: ModuleType, self: Array, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw 1 with the probability that `self` holds there, else 0."""
    return bernoulli_of(xp, self, self, generator, out)


def bernoulli_of(xp: ModuleType, self: Array, p: Any, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw 1 with probability `p`, a number or an array that broadcasts to `self`; else 0."""
    is_number = isinstance(p, (int, float))
    chances = p if is_number else host(xp, p)
    if not is_number and not bool(np.all((chances >= 0) & (chances <= 1))):
        raise RuntimeError(f"bernoulli expects p to be in [0, 1], but got p={p}")
    compute = float64 if isinstance(p, float) or (not is_number and chances.dtype == float64) else float32
    target = xp.empty(self.shape, self.dtype) if out is None else out
    drawn = _in_memory_order(source_for(self, generator).uniform(self.size, compute), target)
    target[...] = xp.asarray(drawn < chances)
    return target


def randperm(
    xp: ModuleType, n: int, generator: Generator | None, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Draw a random order of the numbers below `n`."""
    drawn = xp.asarray(source_for(xp.empty(0), generator).permutation(n))
    return drawn if dtype is None else drawn.astype(dtype, copy=False)


def host(xp: ModuleType, array: Array) -> Host:
    """Return the array on the CPU."""
    return np.asarray(array if xp is np else xp.asnumpy(array))


def placed(xp: ModuleType, self: Array, values: Host, out: Array | None) -> Array:
    """Return the values, one after another in the order in which TensorIterator visits the elements: that of memory."""
    if out is None and xp is np and self.flags.c_contiguous:
        return values.astype(self.dtype, copy=False).reshape(self.shape)
    target = new_or(xp, self, out)
    target[...] = xp.asarray(_in_memory_order(values.astype(target.dtype, copy=False), target))
    return target


def _is_drawn_to(target: Array) -> bool:
    """Whether numbers can be drawn into the memory of an array itself."""
    return type(target) is np.ndarray and target.dtype in (float32, float64) and target.flags.c_contiguous


def _in_memory_order(values: Host, like: Array) -> Host:
    """Return as many values as `like` has elements, in its shape: the first where its memory begins."""
    if like.flags.c_contiguous:
        return values.reshape(like.shape)
    order = sorted(range(like.ndim), key=lambda dim: -abs(like.strides[dim]))
    return values.reshape([like.shape[dim] for dim in order]).transpose(sorted(range(like.ndim), key=order.__getitem__))
