"""Backward functions on NumPy arrays of one dtype, float32 or float64: of activations, softmax, normalisation, losses.

Each gives what the function of its name in `gradients/` gives through operators, some rows at a time, so that what it
needs on the way stays in the cache. Results are contiguous; gradients may have any strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, prod, sqrt
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.elementwise.arithmetic import TANH_CUBIC, TANH_FACTOR, gate_by_tanh
from opwright_kernels.elementwise.single_precision import NORMAL
from opwright_kernels.reducing.reductions import reduce_by_add
from opwright_kernels.special_functions.approximation import polynomial
from opwright_kernels.special_functions.special import erf

Array = Any
_BLOCK = 1 << 15  # elements of a block


def _blocks(rows: int, size: int) -> Iterator[slice]:
    """Yield slices of rows that hold about a block of elements each."""
    step = max(1, _BLOCK * rows // max(1, size))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _elementwise(fill: Callable[..., None], grad: Array, x: Array, *numbers: Any) -> Array:
    """Return what `fill(out, grad, x, *numbers)` writes, block by block."""
    result = np.empty(x.shape, x.dtype)
    if x.ndim == 0:
        fill(result.reshape(1), grad.reshape(1), x.reshape(1), *numbers)
        return result
    if x.size <= _BLOCK:
        fill(result, grad, x, *numbers)
        return result
    for part in _blocks(len(x), x.size):
        fill(result[part], grad[part], x[part], *numbers)
    return result


# Activations


@compiled
def gelu_gradient(grad: Array, x: Array, approximate: str) -> Array:
    """Return the gradient of `gelu`."""
    return _elementwise(_gelu_by_tanh if approximate == "tanh" else _gelu, grad, x)


def _gelu(out: Array, grad: Array, x: Array) -> None:
    square = x * x
    if x.dtype.itemsize == 4:
        cumulative = polynomial(NORMAL, square)
        cumulative *= x
        np.negative(cumulative, out=cumulative)
        np.exp(cumulative, out=cumulative)
        cumulative += 1
        np.reciprocal(cumulative, out=cumulative)
    else:
        cumulative = erf(np, x * sqrt(0.5))
        cumulative += 1
        cumulative *= 0.5
    square *= -0.5
    np.exp(square, out=square)
    square *= 1 / sqrt(2 * pi)
    square *= x
    square += cumulative
    np.multiply(square, grad, out=out)


def _gelu_by_tanh(out: Array, grad: Array, x: Array) -> None:
    gate, square = gate_by_tanh(np, x, np.empty(x.shape, x.dtype)), x * x
    square *= 6 * TANH_CUBIC
    square += 2 * TANH_FACTOR
    square *= x
    square *= 1 - gate
    square += 1
    square *= gate
    np.multiply(square, grad, out=out)


@compiled
def silu_gradient(grad: Array, x: Array) -> Array:
    """Return the gradient of `silu`."""
    return _elementwise(_silu, grad, x)


def _silu(out: Array, grad: Array, x: Array) -> None:
    gate = np.negative(x)
    np.exp(gate, out=gate)
    gate += 1
    np.reciprocal(gate, out=gate)
    slope = 1 - gate
    slope *= x
    slope += 1
    slope *= gate
    np.multiply(slope, grad, out=out)


@compiled
def elu_gradient(grad: Array, x: Array, below: float, scale: float, input_scale: float) -> Array:
    """Return the gradient of `elu`: `below` is its slope just below 0."""
    return _elementwise(_elu, grad, x, below, scale, input_scale)


def _elu(out: Array, grad: Array, x: Array, below: float, scale: float, input_scale: float) -> None:
    slope = np.minimum(x, 0)
    if input_scale != 1:
        slope *= input_scale
    np.exp(slope, out=slope)
    if below != 1:
        slope *= below
    if below != scale:
        np.copyto(slope, scale, where=x > 0)
    np.copyto(slope, scale, where=np.isnan(x))
    np.multiply(slope, grad, out=out)


# Softmax, along the last dimension


@compiled
def softmax_gradient(grad: Array, result: Array) -> Array:
    """Return the gradient of `softmax`."""
    return _by_rows(_softmax, grad, result)


def _softmax(out: Array, grad: Array, result: Array) -> None:
    np.subtract(grad, np.vecdot(grad, result)[:, None], out=out)
    out *= result


@compiled
def log_softmax_gradient(grad: Array, result: Array) -> Array:
    """Return the gradient of `log_softmax`."""
    return _by_rows(_log_softmax, grad, result)


def _log_softmax(out: Array, grad: Array, result: Array) -> None:
    np.exp(result, out=out)
    out *= grad.sum(axis=1, keepdims=True)
    np.subtract(grad, out, out=out)


def _by_rows(fill: Callable[..., None], grad: Array, result: Array) -> Array:
    found = np.empty(result.shape, result.dtype)
    width = result.shape[-1]
    grads, results, filled = grad.reshape(-1, width), result.reshape(-1, width), found.reshape(-1, width)
    if result.size <= _BLOCK:
        fill(filled, grads, results)
        return found
    for part in _blocks(len(filled), filled.size):
        fill(filled[part], grads[part], results[part])
    return found


# Normalisation. `mask` says which gradients are wanted: of input, weight and bias.

Gradients = tuple[Array | None, Array | None, Array | None]


@compiled
def layer_norm_gradients(
    grad: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    shape: tuple[int, ...],
    mask: tuple[bool, ...],
) -> Gradients:
    """Return the gradients of `layer_norm` over the last dimensions, which have this shape."""
    count = prod(shape)
    number = np.asarray(count, x.dtype)
    grads, rows = grad.reshape(-1, count), x.reshape(-1, count)
    means, rstds = mean.reshape(-1, 1), rstd.reshape(-1, 1)
    scale = None if weight is None else weight.reshape(1, count)
    found = np.empty(rows.shape, x.dtype) if mask[0] else None
    of_weight, of_bias = (np.zeros(count, x.dtype) if wanted else None for wanted in mask[1:])
    for part in _blocks(len(rows), rows.size):
        given = grads[part]
        centred = rows[part] - means[part]
        centred *= rstds[part]
        if of_weight is not None:
            of_weight += np.einsum("ij,ij->j", given, centred)
        if of_bias is not None:
            of_bias += given.sum(axis=0)
        if found is not None:
            scaled = given if scale is None else given * scale
            average = reduce_by_add(scaled, 1, None, None, True) / number
            centred *= np.vecdot(scaled, centred)[:, None] / number
            np.subtract(scaled, average, out=found[part])
            found[part] -= centred
            found[part] *= rstds[part]
    return _shaped(found, x.shape), _shaped(of_weight, shape), _shaped(of_bias, shape)


def _shaped(array: Array | None, shape: tuple[int, ...]) -> Array | None:
    return None if array is None else array.reshape(shape)


@compiled
def group_norm_gradients(
    grad: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    sizes: tuple[int, ...],
    mask: tuple[bool, ...],
) -> Gradients:
    """Return the gradients of `group_norm`; `sizes` are images, groups, channels of a group, elements of a channel."""
    images, groups, channels, _ = sizes
    grads, values = grad.reshape(sizes), x.reshape(sizes)
    means, rstds = (each.reshape(images, groups, 1, 1) for each in (mean, rstd))
    scale = None if weight is None else weight.reshape(1, groups, channels, 1)
    found = np.empty(sizes, x.dtype) if mask[0] else None
    of_weight, of_bias = (np.zeros((groups, channels), x.dtype) if wanted else None for wanted in mask[1:])
    for part in _blocks(images, values.size):
        given = grads[part]
        centred = values[part] - means[part]
        centred *= rstds[part]
        if of_weight is not None:
            of_weight += np.einsum("ngcl,ngcl->gc", given, centred)
        if of_bias is not None:
            of_bias += given.sum(axis=(0, 3))
        if found is not None:
            scaled = given if scale is None else given * scale
            average = scaled.mean(axis=(2, 3), keepdims=True)
            along = np.einsum("ngcl,ngcl->ng", scaled, centred) / x.dtype.type(channels * sizes[3])
            centred *= along[:, :, None, None]
            np.subtract(scaled, average, out=found[part])
            found[part] -= centred
            found[part] *= rstds[part]
    return _shaped(found, x.shape), _shaped(of_weight, (-1,)), _shaped(of_bias, (-1,))


@compiled
def batch_norm_gradients(
    grad: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, training: bool, mask: tuple[bool, ...]
) -> Gradients:
    """Return the gradients of `batch_norm`; without training, mean and reciprocal deviation are constants."""
    images, channels = x.shape[:2]
    grads, values = (each.reshape(images, channels, -1) for each in (grad, x))
    rstds = rstd.reshape(channels, 1)
    factor = rstds if weight is None else rstds * weight.reshape(channels, 1)
    found = np.empty(values.shape, x.dtype)
    sums, along = np.zeros(channels, x.dtype), np.zeros(channels, x.dtype)
    for part in _blocks(images, values.size):
        np.subtract(values[part], mean.reshape(channels, 1), out=found[part])
        found[part] *= rstds
        sums += grads[part].sum(axis=(0, 2))
        along += np.einsum("ncl,ncl->c", grads[part], found[part])
    if mask[0]:
        count = x.dtype.type(values.size // channels)
        for part in _blocks(images, values.size):
            if training:
                found[part] *= (along / -count)[:, None]
                found[part] += grads[part]
                found[part] -= (sums / count)[:, None]
                found[part] *= factor
            else:
                np.multiply(grads[part], factor, out=found[part])
    return found.reshape(x.shape) if mask[0] else None, along if mask[1] else None, sums if mask[2] else None


# Losses


def nll_loss_gradient(
    grad: Array,
    weight: Array | None,
    total_weight: Array,
    target: Array,
    shape: tuple[int, ...],
    is_mean: bool,
    ignore_index: int,
) -> Array:
    """Return the gradient of `nll_loss` of scores of `shape`, (rows, classes)."""
    result = np.zeros(shape, grad.dtype)
    value = grad / total_weight if is_mean else grad
    kept = target if prod(shape) else target[:0]
    rows = np.arange(shape[0])
    used = kept != ignore_index
    if not used.all():
        rows, kept = rows[used], kept[used]
        value = value[used] if value.ndim else value
    result[rows, kept] = -value if weight is None else -value * weight[kept]
    return result
