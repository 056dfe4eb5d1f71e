"""The backward operators of normalisation: gradients of input, weight and bias, given the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.sizes import holds
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.gradients.norms import Layout, following_statistics
from opwright_kernels.plain import dense_arrays

Operand = Any  # a Tensor
Gradients = tuple[Operand | None, Operand | None, Operand | None]


def _wrapped(arrays: Sequence[Any]) -> Gradients:
    of_input, of_weight, of_bias = [None if each is None else wrap(each) for each in arrays]
    return of_input, of_weight, of_bias


def _check(
    layout: Layout, grad: Operand, input: Operand, weight: Operand | None, mean: Operand | None, rstd: Operand | None
) -> None:
    """Raise RuntimeError unless the input has floating-point numbers, all others as many elements as it asks for."""
    if not input.is_floating_point():
        raise RuntimeError(f"input must have a floating-point dtype, but has {input.dtype}")
    for name, each, shape in (
        ("grad_out", grad, input.shape), ("mean", mean, layout.statistics), ("rstd", rstd, layout.statistics),
        ("weight", weight, layout.own),
    ):  # fmt: skip
        if each is None and name != "weight":
            raise RuntimeError(f"{name} must be given")
        if each is not None and not holds(layouts.count(each.shape) == layouts.count(shape)):
            raise RuntimeError(
                f"{name} must have {layouts.count(shape)} elements for an input of size {list(input.shape)}, but has "
                f"size {list(each.shape)}"
            )


def _by_operators(
    layout: Layout,
    grad: Operand,
    input: Operand,
    weight: Operand | None,
    mean: Operand,
    rstd: Operand,
    follows: bool,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients that `mask` asks for, in the dtypes of what they are of; statistics that do not follow the
    input are constants. Those that do have its history: outside of `vmap` these steps are what is differentiated."""
    aten = opwright.ops.aten
    mean, rstd = (aten.reshape(each, layout.statistics) for each in (mean, rstd))
    values, given = aten.reshape(grad, layout.inner), aten.reshape(input, layout.inner)
    if follows and opwright.is_grad_enabled():
        mean, rstd = following_statistics(aten.to(given, rstd.dtype), mean, rstd, layout.dims)
    centred = (given - mean) * rstd
    of_input = of_weight = of_bias = None
    if mask[0]:
        scaled = values if weight is None else values * layout.along(weight)
        if follows:
            along = aten.mean(scaled * centred, layout.dims, True)
            scaled = scaled - aten.mean(scaled, layout.dims, True) - centred * along
        of_input = aten.to(aten.reshape(scaled * rstd, input.shape), input.dtype)
    dtype = input.dtype if weight is None else weight.dtype
    if mask[1]:
        of_weight = aten.to(layout.total(values * centred), dtype)
    if mask[2]:
        of_bias = aten.to(layout.total(values), dtype)
    return of_input, of_weight, of_bias


def native_layer_norm_backward(
    grad_out: Operand,
    input: Operand,
    normalized_shape: Sequence[int],
    mean: Operand,
    rstd: Operand,
    weight: Operand | None,
    bias: Operand | None,
    output_mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_layer_norm`. Raises RuntimeError for sizes that do not fit."""
    own = input.shape[max(input.ndim - len(normalized_shape), 0) :]
    if len(own) != len(normalized_shape) or not all(holds(a == b) for a, b in zip(own, normalized_shape, strict=True)):
        raise RuntimeError(
            f"normalized_shape must be the last sizes of {list(input.shape)}, but is {list(normalized_shape)}"
        )
    layout = Layout.of_layers(input, normalized_shape)
    _check(layout, grad_out, input, weight, mean, rstd)
    arrays = dense_arrays(grad_out, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        shape = tuple(normalized_shape)
        return _wrapped(backward.layer_norm_gradients(given, x, w, means, rstds, shape, tuple(output_mask)))
    return _by_operators(layout, grad_out, input, weight, mean, rstd, True, output_mask)


def native_group_norm_backward(
    grad_out: Operand,
    input: Operand,
    mean: Operand,
    rstd: Operand,
    weight: Operand | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_group_norm`, from that of its first result. Raises RuntimeError for sizes that do
    not fit."""
    if not holds(layouts.count(input.shape) == N * C * HxW):
        raise RuntimeError(f"an input of size {list(input.shape)} does not have {N} × {C} × {HxW} elements")
    layout = Layout.of_groups(N, C, HxW, group)
    _check(layout, grad_out, input, weight, mean, rstd)
    arrays = dense_arrays(grad_out, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        sizes = (N, group, C // group, HxW)
        return _wrapped(backward.group_norm_gradients(given, x, w, means, rstds, sizes, tuple(output_mask)))
    return _by_operators(layout, grad_out, input, weight, mean, rstd, True, output_mask)


def native_batch_norm_backward(
    grad_out: Operand,
    input: Operand,
    weight: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    save_mean: Operand | None,
    save_invstd: Operand | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_batch_norm`; without training the statistics are constants: the running ones.

    Raises RuntimeError for sizes that do not fit."""
    if input.ndim < 2:
        raise RuntimeError(f"input must have a batch and channels, but has size {list(input.shape)}")
    mean, rstd = save_mean, save_invstd
    if not train and running_mean is not None and running_var is not None:
        mean, rstd = running_mean, opwright.ops.aten.rsqrt(running_var + eps)
    layout = Layout.of_batches(input)
    _check(layout, grad_out, input, weight, mean, rstd)
    arrays = dense_arrays(grad_out, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        return _wrapped(backward.batch_norm_gradients(given, x, w, means, rstds, train, tuple(output_mask)))
    return _by_operators(layout, grad_out, input, weight, mean, rstd, train, output_mask)


def batch_norm_backward(
    grad_out: Operand,
    input: Operand,
    weight: Operand,
    running_mean: Operand | None,
    running_var: Operand | None,
    save_mean: Operand | None,
    save_var: Operand | None,
    update: bool,
    eps: float,
    output_mask: Sequence[bool],
    reserve: Operand,
) -> Gradients:
    """Return the gradients of `_batch_norm_with_update`; cuDNN alone has something in `reserve`."""
    statistics = (running_mean, running_var, save_mean, save_var)
    return native_batch_norm_backward(grad_out, input, weight, *statistics, update, eps, output_mask)
