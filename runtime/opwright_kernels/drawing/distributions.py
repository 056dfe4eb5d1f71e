"""Random numbers of other distributions than the uniform and the normal one, from the same Generator.

As in `random`, `self` says shape and dtype, and the numbers are drawn on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import float32, float64
from opwright_core.random_state.generator import Generator, source_for
from opwright_kernels.drawing.random import host, placed
from opwright_kernels.special_functions.approximation import blockwise

Array = Any

_LONG = 1 << 20  # elements


def exponential(
    xp: ModuleType, self: Array, lambd: float, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw exponentially distributed numbers of rate `lambd`."""
    return placed(xp, self, _exponentials(source_for(self, generator), self.size, lambd), out)


def _exponentials(source: Generator, count: int, rate: float) -> Any:
    """Draw `count` exponentially distributed numbers."""
    return _by_parts(lambda part: -np.log1p(-part) / rate, source.uniform(count, float64))


def _by_parts(function: Callable[..., Any], *operands: Any) -> Any:
    """Return what an elementwise function gives for new arrays (float64); for long ones part by part, into the first: a
    signal waits for a part."""
    if operands[0].size < _LONG:
        return function(*operands)
    return blockwise(np, lambda _, *parts: function(*parts), operands[0], *operands)


def geometric(xp: ModuleType, self: Array, p: float, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw how many trials of chance `p` it takes to succeed once."""
    drawn = source_for(self, generator).uniform(self.size, float64)
    with np.errstate(divide="ignore"):
        return placed(xp, self, _by_parts(lambda part: np.ceil(np.log(part) / np.log1p(-p)), drawn), out)


def cauchy(
    xp: ModuleType, self: Array, median: float, sigma: float, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw numbers of a Cauchy distribution with this median and half width."""
    drawn = source_for(self, generator).uniform(self.size, float64)
    return placed(xp, self, _by_parts(lambda part: median + sigma * np.tan(np.pi * (part - 0.5)), drawn), out)


def log_normal(
    xp: ModuleType, self: Array, mean: float, std: float, generator: Generator | None, out: Array | None = None
) -> Array:
    """Draw numbers whose logarithms are normally distributed."""
    drawn = source_for(self, generator).single_normals(self.size, mean, std)
    with np.errstate(over="ignore"):
        return placed(xp, self, _by_parts(np.exp, drawn), out)


def poisson(xp: ModuleType, self: Array, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw numbers of events, where `self` says how many there are on average."""
    rates = host(xp, self).astype(float64)
    if not bool(np.all(rates >= 0)):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _result(xp, self, _by_parts(source_for(self, generator).poisson, rates), out)


def binomial(xp: ModuleType, count: Array, prob: Array, generator: Generator | None, out: Array | None = None) -> Array:
    """Draw numbers of successes in `count` trials of chance `prob` each."""
    trials, chances = np.broadcast_arrays(host(xp, count).astype(float64), host(xp, prob).astype(float64))
    is_drawn = (trials >= 0) & (trials < np.inf) & (chances >= 0) & (chances < 1)
    draw = source_for(count, generator).binomial
    drawn = _by_parts(draw, np.where(is_drawn, trials, 0), np.where(is_drawn, chances, 0))
    none = (trials <= 0) | (chances <= 0)
    beyond = np.where(none, 0, np.where(chances >= 1, trials, trials * chances))  # of NaN and of infinite counts
    return _result(xp, count, np.where(is_drawn, drawn, beyond), out)


def _result(xp: ModuleType, like: Array, drawn: Any, out: Array | None) -> Array:
    result = xp.asarray(np.asarray(drawn).astype(like.dtype))
    if out is None:
        return result
    out[...] = result
    return out


def multinomial(xp: ModuleType, self: Array, num_samples: int, replacement: bool, generator: Generator | None) -> Array:
    """Draw positions along the last dimension, drawn with the chances that stand there; they need not add up to 1."""
    given = host(xp, self)
    chances = given.astype(float64)
    if not bool(np.all((chances >= 0) & (chances < np.inf))):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bool(np.any(chances.sum(-1) == 0)):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples != 1:
        sums = chances if given.dtype == float64 else given.astype(float32)
        return xp.asarray(_with_replacement(source_for(self, generator), sums, num_samples))
    # The largest of chance / exponential number falls on each position with its chance, and so do the next ones.
    numbers = host(xp, placed(xp, self, _exponentials(source_for(self, generator), given.size, 1.0), None))
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = np.where(chances > 0, given / numbers, -1)
    return xp.asarray(np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples])


def _with_replacement(source: Generator, chances: Any, count: int) -> Any:
    rows = chances.reshape(-1, chances.shape[-1])
    ends = np.cumsum(rows, axis=1)
    ends /= ends[:, -1:]
    drawn = source.uniform(len(rows) * count, float64).reshape(len(rows), count)
    number = np.arange(len(rows))[:, None]
    # One search for all rows: each is moved up by its number.
    found = np.searchsorted((ends + number).ravel(), drawn + number, "right") - number * rows.shape[1]
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    return np.minimum(found, last[:, None]).reshape(*chances.shape[:-1], count)
