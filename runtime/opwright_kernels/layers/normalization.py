"""Softmax; normalisation of layers, batches and groups. Arrays come in the dtype that is computed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.reducing.reductions import reduce_by_add, reduce_by_maximum

Array = Any

_BLOCK = 1 << 15  # elements of a block: with its temporaries it stays in a core's second-level cache


@compiled
def softmax(xp: ModuleType, self: Array, dim: int, half_to_float: bool = False) -> Array:
    """Return exp(self) over its sum along `dim`, shifted by the maximum so that nothing overflows."""
    if not self.ndim:  # a row of one: 1, but for what is not finite
        return xp.asarray(xp.exp(self - self))
    if not self.size:
        return xp.ones_like(self)
    return _by_rows(xp, _softmax, self, dim)


def _softmax(xp: ModuleType, self: Array, dim: int, result: Array) -> None:
    xp.subtract(self, _largest(xp, self, dim), out=result)
    xp.exp(result, out=result)
    result /= _total(xp, result, dim)


def safe_softmax(self: Array, dim: int) -> Array:
    """Return `softmax` of a NumPy array, and 0 where all along `dim` is -infinity."""
    result = softmax(np, np.asarray(self, order="C"), dim)
    if np.isnan(result.take([0], axis=dim) if self.size and self.ndim else result).any():
        nothing = self.max(axis=dim, keepdims=True) == -np.inf if self.ndim else self == -np.inf
        np.copyto(result, 0, where=nothing)
    return result


@compiled
def log_softmax(xp: ModuleType, self: Array, dim: int, half_to_float: bool = False) -> Array:
    """Return the logarithm of `softmax`, without taking the logarithm of what has underflowed."""
    if not self.ndim:
        return xp.asarray(self - self)
    if not self.size:
        return xp.zeros_like(self)
    return _by_rows(xp, _log_softmax, self, dim)


def _log_softmax(xp: ModuleType, self: Array, dim: int, result: Array) -> None:
    xp.subtract(self, _largest(xp, self, dim), out=result)
    result -= xp.log(_total(xp, xp.exp(result), dim))


def _largest(xp: ModuleType, self: Array, dim: int) -> Array:
    return reduce_by_maximum(self, dim, None, None, True) if xp is np else self.max(axis=dim, keepdims=True)


def _total(xp: ModuleType, self: Array, dim: int | tuple[int, ...]) -> Array:
    return reduce_by_add(self, dim, None, None, True) if xp is np else self.sum(axis=dim, keepdims=True)


def _by_rows(xp: ModuleType, fill: Callable[[ModuleType, Array, int, Array], None], self: Array, dim: int) -> Array:
    """Return what `fill` writes; of as many rows at a time as stay in the cache, where `dim` is the last and dense."""
    result = xp.empty_like(self)
    width = self.shape[-1]
    if xp is not np or self.size <= _BLOCK or dim not in (-1, self.ndim - 1) or not self.flags.c_contiguous:
        fill(xp, self, dim, result)
        return result
    rows, filled = self.reshape(-1, width), result.reshape(-1, width)
    step = max(1, _BLOCK // width)
    for start in range(0, len(rows), step):
        fill(xp, rows[start : start + step], 1, filled[start : start + step])
    return result


@compiled
def layer_norm(
    xp: ModuleType, input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions; also the mean and the
    reciprocal deviation."""
    width, outer = prod(normalized_shape), input.shape[: input.ndim - len(normalized_shape)]
    if xp is not np or input.size <= _BLOCK or not input.flags.c_contiguous:
        return _layer_norm(xp, input, tuple(range(len(outer), input.ndim)), weight, bias, eps)
    rows, count = input.reshape(-1, width), prod(outer)
    result = xp.empty_like(input)
    mean, rstd = (xp.empty((count, 1), input.dtype) for _ in range(2))
    factor, shift = (None if each is None else each.reshape(width) for each in (weight, bias))
    filled = result.reshape(-1, width)
    step = max(1, _BLOCK // width)
    for start in range(0, count, step):
        part = slice(start, start + step)
        _, mean[part], rstd[part] = _layer_norm(xp, rows[part], (1,), factor, shift, eps, filled[part])
    inner = (*outer, *(1,) * len(normalized_shape))
    return result, mean.reshape(inner), rstd.reshape(inner)


def _layer_norm(
    xp: ModuleType,
    input: Array,
    over: tuple[int, ...],
    weight: Array | None,
    bias: Array | None,
    eps: float,
    out: Array | None = None,
) -> tuple[Array, Array, Array]:
    count = xp.asarray(prod(input.shape[over[0] :]) if over else 1, input.dtype)
    mean = _total(xp, input, over) / count
    result = xp.subtract(input, mean, out=out)
    if xp is np and len(over) == 1:
        variance = np.vecdot(result, result)[..., None] / count
    else:
        variance = xp.square(result).sum(axis=over, keepdims=True) / count
    rstd = xp.reciprocal(xp.sqrt(variance + eps))
    result *= rstd
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd


@compiled
def batch_norm_with_running(
    xp: ModuleType,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias for each channel; the mean and the reciprocal
    deviation, empty unless training; and the running statistics afterwards."""
    if training:
        result, mean, rstd, variance = _normalized_channels(xp, input, weight, bias, eps)
        count = input.size // input.shape[1]
        unbiased = xp.true_divide(variance * count, count - 1, dtype=variance.dtype)
        running_mean = momentum * mean + (1 - momentum) * running_mean.reshape(-1)
        running_var = momentum * unbiased + (1 - momentum) * running_var.reshape(-1)
        return result, mean, rstd, running_mean, running_var
    rstd = xp.reciprocal(xp.sqrt(running_var.reshape(-1) + eps))
    result = xp.subtract(input, _per_channel(running_mean, input.ndim))
    none = xp.empty(0, input.dtype)
    return _scaled(xp, result, rstd, weight, bias), none, none, running_mean, running_var


@compiled
def batch_norm_of_input(
    xp: ModuleType,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    """Normalise as `batch_norm_with_running` does, without running statistics."""
    return _normalized_channels(xp, input, weight, bias, eps)[:3]


def _normalized_channels(
    xp: ModuleType, input: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    over = (0, *range(2, input.ndim))
    mean = input.mean(axis=over)
    result = xp.subtract(input, _per_channel(mean, input.ndim))
    variance = xp.square(result).mean(axis=over)
    rstd = xp.reciprocal(xp.sqrt(variance + eps))
    return _scaled(xp, result, rstd, weight, bias), mean, rstd, variance


def _scaled(xp: ModuleType, centred: Array, rstd: Array, weight: Array | None, bias: Array | None) -> Array:
    """Scale and shift `centred`, writing into it."""
    centred *= _per_channel(rstd if weight is None else rstd * weight.reshape(-1), centred.ndim)
    if bias is not None:
        centred += _per_channel(bias, centred.ndim)
    return centred


def _per_channel(values: Array, ndim: int) -> Array:
    return values.reshape(-1, *(1,) * (ndim - 2))


@compiled
def group_norm_of_rows(
    xp: ModuleType,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    """Return (input - mean) / sqrt(variance + eps) over each group of channels of each image, times weight plus bias of
    each channel; also the mean and the reciprocal deviation."""
    rows = input.reshape(N, group, C // group * HxW)
    if not input.size:
        return input, xp.zeros((N, group), input.dtype), xp.full((N, group), float("nan"), input.dtype)
    mean = rows.mean(axis=2, keepdims=True)
    centred = xp.subtract(rows, mean)
    rstd = xp.reciprocal(xp.sqrt(xp.square(centred).mean(axis=2, keepdims=True) + eps))
    centred *= rstd
    result = centred.reshape(N, C, HxW)
    if weight is not None:
        result *= weight[:, None]
    if bias is not None:
        result += bias[:, None]
    return result.reshape(input.shape), mean[..., 0], rstd[..., 0]
