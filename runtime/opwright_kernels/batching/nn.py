"""Convolution, normalization, embedding and losses of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, first, sample_numbers, spread, without_samples

__all__ = ["batch_norm", "batch_norm_no_stats", "class_loss", "convolution", "embedding", "group_norm", "layer_norm"]

Numbers = Sequence[int]


def convolution(
    info: Any,
    in_dims: Any,
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
) -> Any:
    """Return convolutions: the batch is folded into N, or into channels and groups where there are many weights."""
    convolve = opwright.ops.aten.convolution
    if info.batch_size == 0:
        options = (stride, padding, dilation, transposed, output_padding, groups)
        return without_samples(convolve, in_dims, (input, weight, bias, *options))
    rest = (stride, padding, dilation, transposed, output_padding)
    if in_dims[1] is None and in_dims[2] is None:
        value = first(input, in_dims[0])
        if value.ndim != weight.ndim + 1:
            raise RuntimeError(
                f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
                f"{list(weight.shape)}, but got {value.ndim - 1}-dimensional input of size {list(value.shape[1:])}"
            )
        found = convolve(_merged(value, 0), weight, bias, *rest, groups)
        return found.reshape([info.batch_size, value.shape[1], *found.shape[1:]]), 0
    if in_dims[1] is None:
        found, dim = _without_bias(info, in_dims[0], convolve, input, weight, rest, groups)
    else:
        weights = first(weight, in_dims[1])
        value = every(info, input, in_dims[0])
        if value.ndim != weights.ndim:
            raise RuntimeError(f"Expected {weights.ndim - 1}-dimensional input, but got {value.ndim - 1} dimensions")
        images = _merged(value.movedim(0, 1), 1)
        found = convolve(images, _merged(weights, 0), None, *rest, groups * info.batch_size)
        channels = found.shape[1] // info.batch_size
        found, dim = found.reshape([found.shape[0], info.batch_size, channels, *found.shape[2:]]), 1
    if bias is not None:
        found, dim = first(found, dim), 0 if dim is not None else None
        biases = every(info, bias, in_dims[2])
        shape = [info.batch_size, 1, biases.shape[1], *[1] * (weight.ndim - 2 - (in_dims[1] is not None))]
        found, dim = found + biases.reshape(shape), 0
    return found, dim


def _without_bias(
    info: Any, dim: int | None, convolve: Any, input: Operand, weight: Operand, rest: Any, groups: int
) -> tuple[Operand, int | None]:
    if dim is None:
        return convolve(input, weight, None, *rest, groups), None
    value = first(input, dim)
    found = convolve(_merged(value, 0), weight, None, *rest, groups)
    return found.reshape([*value.shape[:2], *found.shape[1:]]), 0


def _merged(value: Operand, dim: int) -> Operand:
    """Return a value with a dimension and the next one as one."""
    sizes = value.shape
    return value.reshape([*sizes[:dim], sizes[dim] * sizes[dim + 1], *sizes[dim + 2 :]])


def _split(value: Operand, size: int) -> Operand:
    """Return a value whose first dimension counts the batch and what is in it, with one for each; what is empty was not
    asked for and is the same for all."""
    if value.shape == (0,):
        return value.expand([size, 0])
    return value.reshape([size, value.shape[0] // max(size, 1), *value.shape[1:]])


def batch_norm(
    info: Any,
    in_dims: Any,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return batches normalized by channel: those of all samples are channels of one batch."""
    if info.batch_size == 0:
        function = partial(_normalized, training=training, momentum=momentum, eps=eps)
        return without_samples(function, in_dims[:5], (input, weight, bias, running_mean, running_var))
    value = every(info, input, in_dims[0])
    given = [
        None if each is None else _merged(every(info, each, dim), 0)
        for each, dim in zip((weight, bias, running_mean, running_var), in_dims[1:5], strict=True)
    ]
    images = _merged(value.movedim(0, 1), 1)
    found = _normalized(images, *given, training=training, momentum=momentum, eps=eps)
    out = found[0].reshape([images.shape[0], info.batch_size, value.shape[2], *images.shape[2:]])
    parts = [_split(each, info.batch_size) for each in found[1:]]
    return (out, *parts), (1, *[0] * len(parts))


def _normalized(
    images: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    **options: Any,
) -> tuple[Operand, ...]:
    aten = opwright.ops.aten
    if running_mean is None:
        return tuple(aten._native_batch_norm_legit.no_stats(images, weight, bias, **options))
    operands = (images, weight, bias, running_mean, running_var)
    return tuple(aten._native_batch_norm_legit_functional(*operands, **options))


def batch_norm_no_stats(
    info: Any,
    in_dims: Any,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return batches normalized by channel, by their own mean and variance."""
    dims = (*in_dims[:3], None, None)
    return batch_norm(info, dims, input, weight, bias, None, None, training, momentum, eps)


def layer_norm(
    info: Any,
    in_dims: Any,
    input: Operand,
    normalized_shape: Numbers,
    weight: Operand | None,
    bias: Operand | None,
    eps: float,
) -> Any:
    """Return normalized samples, by weights and biases that each may have its own of."""
    norm = opwright.ops.aten.native_layer_norm
    value = every(info, input, in_dims[0])
    if value.ndim - 1 < len(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size {list(value.shape[1:])}"
        )
    if in_dims[2] is None and in_dims[3] is None:
        return tuple(norm(value, normalized_shape, weight, bias, eps)), (0, 0, 0)
    out, mean, rstd = norm(value, normalized_shape, None, None, eps)
    shape = [1] * (value.ndim - 1 - len(normalized_shape))
    return (_scaled(info, in_dims[2:4], out, weight, bias, shape, []), mean, rstd), (0, 0, 0)


def _scaled(
    info: Any,
    dims: Sequence[int | None],
    out: Operand,
    weight: Operand | None,
    bias: Operand | None,
    before: list[int],
    after: list[int],
) -> Operand:
    """Return `out * weight + bias`, of which each sample may have its own."""
    dtype = out.dtype
    for each, dim, function in ((weight, dims[0], opwright.mul), (bias, dims[1], opwright.add)):
        if each is not None:
            own = every(info, each, dim)
            out = function(out, own.reshape([own.shape[0], *before, *own.shape[1:], *after]))
    return out.to(dtype)


def group_norm(
    info: Any,
    in_dims: Any,
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Any:
    """Return samples normalized by groups of channels: the batch is a part of N."""
    norm = opwright.ops.aten.native_group_norm
    value = every(info, input, in_dims[0])
    has_own = in_dims[1] is not None or in_dims[2] is not None
    given = (None, None) if has_own else (weight, bias)
    found = norm(_merged(value, 0), *given, N * info.batch_size, C, HxW, group, eps)
    out, *parts = [each.reshape([*value.shape[:2], *each.shape[1:]]) for each in found]
    if has_own:
        out = _scaled(info, in_dims[1:3], out, weight, bias, [1], [1] * (out.ndim - 3))
    return (out, *parts), (0, 0, 0)


def embedding(
    info: Any,
    in_dims: Any,
    weight: Operand,
    indices: Operand,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return rows of tables, of which each sample may have its own."""
    if in_dims[0] is None:
        found = opwright.ops.aten.embedding(weight, first(indices, in_dims[1]), padding_idx, scale_grad_by_freq, sparse)
        return found, 0
    table, rows = first(weight, in_dims[0]), every(info, indices, in_dims[1])
    if table.ndim != 3:
        raise RuntimeError(f"'weight' must be 2-D, but its size is {list(table.shape[1:])}")
    found = opwright.ops.aten.index.Tensor(table, [sample_numbers(info, weight, rows.ndim - 1), rows])
    if padding_idx >= 0:  # no gradient flows to that row
        found = opwright.where((rows == padding_idx).unsqueeze(-1), found.detach(), found)
    return found, 0


def class_loss(
    info: Any,
    in_dims: Any,
    self: Operand,
    target: Operand,
    weight: Operand | None,
    reduction: int,
    ignore_index: int,
) -> Any:
    """Return losses by the score of the class of each row or pixel, and the weights that they are divided by."""
    aten = opwright.ops.aten
    scores, classes = every(info, self, in_dims[0]), every(info, target, in_dims[1]).long()
    dim = 1 if scores.ndim == 2 else 2
    if classes.ndim == scores.ndim == 2 and classes.shape[1] == 1:
        classes = classes.squeeze(1)
    if classes.ndim != scores.ndim - 1:
        raise RuntimeError(f"size mismatch (got input: {list(scores.shape[1:])}, target: {list(classes.shape[1:])})")
    counts = classes != ignore_index
    known = aten.where.ScalarOther(counts, classes, 0)
    losses = aten.neg(aten.squeeze.dim(aten.gather(scores, dim, known.unsqueeze(dim)), dim))
    if weight is None:
        weights = counts.to(losses.dtype)
    else:
        table = every(info, weight, in_dims[2])
        weights = aten.gather(table, 1, known.reshape([info.batch_size, known[0].numel() if info.batch_size else 0]))
        weights = aten.where.ScalarOther(counts, weights.reshape(list(known.shape)), 0)
    losses = aten.where.ScalarOther(counts, losses * weights, 0)
    if not reduction and classes.ndim > 1:
        return (losses, losses.new_zeros([info.batch_size])), (0, 0)
    others = list(range(1, classes.ndim))
    total = aten.sum.dim_IntList(weights, others) if others else weights
    losses = aten.sum.dim_IntList(losses, others) if others else losses
    return (losses / total if reduction == 1 else losses, total), (0, 0)


def linear(info: Any, in_dims: Any, input: Operand, weight: Operand, bias: Operand | None = None) -> Any:
    """Return products with a matrix, of which each sample may have its own, and sums with a bias."""
    aten = opwright.ops.aten
    if in_dims[1] is None and (bias is None or in_dims[2] is None):
        return aten.linear(first(input, in_dims[0]), weight, bias), 0
    value, weights = every(info, input, in_dims[0]), every(info, weight, in_dims[1])
    if weights.ndim == 2:  # a weight of one dimension gives one number for each row
        weights = weights.unsqueeze(1)
        rows = value.reshape([info.batch_size, -1 if value.numel() else 0, value.shape[-1]])
        found = aten.matmul(rows, weights.transpose(1, 2)).reshape(list(value.shape[:-1]))
    else:
        count = math.prod(value.shape[1:-1])
        rows = value.reshape([info.batch_size, count, value.shape[-1]])
        found = aten.matmul(rows, weights.transpose(1, 2)).reshape([*value.shape[:-1], weights.shape[1]])
    if bias is not None:
        found = found + spread(every(info, bias, in_dims[2]), found.ndim - 1)
    return found, 0
