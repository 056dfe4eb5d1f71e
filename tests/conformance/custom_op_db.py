"""The operators of `torch.testing._internal.custom_op_db`, in our own words: NumPy functions with fake kernels,
gradients and rules for `vmap`, and what to call each with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sampling import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, Array, Sample, make, sample

import opwright
from opwright import Tensor
from opwright.library import CustomOpDef, custom_op, get_ctx
from opwright.types import Number

NAMESPACE = "custom_op_db"


@custom_op("custom_op_db::numpy_cube", mutates_args=())
def numpy_cube(x: Array) -> tuple[Array, Array]:
    return np.power(x, 3, order="C"), 3 * np.square(x, order="C")


@numpy_cube.register_fake
def _(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape)


def _save_cube(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, output[1])


def _cube_backward(ctx: Any, grad: Tensor, grad_slope: Tensor) -> Tensor:
    x, slope = ctx.saved_tensors
    return numpy_mul(grad, slope) + 6 * numpy_mul(grad_slope, x)  # type: ignore[no-any-return]


numpy_cube.register_autograd(_cube_backward, setup_context=_save_cube)


@numpy_cube.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> Any:
    return numpy_cube(x), (in_dims[0], in_dims[0])


@custom_op("custom_op_db::numpy_mul", mutates_args=())
def numpy_mul(x: Array, y: Array) -> Array:
    return np.multiply(x, y, order="C")


@numpy_mul.register_fake
def _(x: Tensor, y: Tensor) -> Tensor:
    assert x.device == y.device, f"x is on {x.device}, y on {y.device}"
    return (x * y).contiguous()


def _save_mul(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _mul_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    x, y = ctx.saved_tensors
    return grad * y if ctx.needs_input_grad[0] else None, grad * x if ctx.needs_input_grad[1] else None


numpy_mul.register_autograd(_mul_backward, setup_context=_save_mul)


def _batch_last(x: Tensor, dim: int | None) -> Tensor:
    return x.unsqueeze(-1) if dim is None else x.movedim(dim, -1)


@numpy_mul.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], x: Tensor, y: Tensor) -> Any:
    return (_batch_last(x, in_dims[0]) * _batch_last(y, in_dims[1])).movedim(-1, 0), 0


@custom_op("custom_op_db::numpy_mul_scalar", mutates_args=())
def numpy_mul_scalar(x: Array, *, scalar: float) -> Array:
    return np.multiply(x, scalar, order="C")


@numpy_mul_scalar.register_fake
def _(x: Tensor, *, scalar: float) -> Tensor:
    return (x * scalar).contiguous()


def _keep_scalar(ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: Tensor) -> None:
    ctx.scalar = keyword_only_inputs["scalar"]


def _mul_scalar_backward(ctx: Any, grad: Tensor) -> Tensor:
    return grad * ctx.scalar  # type: ignore[no-any-return]


numpy_mul_scalar.register_autograd(_mul_scalar_backward, setup_context=_keep_scalar)


@numpy_mul_scalar.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], x: Tensor, *, scalar: float) -> Any:
    return numpy_mul_scalar(x, scalar=scalar), in_dims[0]


@custom_op("custom_op_db::numpy_sort", mutates_args=())
def numpy_sort(x: Array, dim: int) -> tuple[Array, Array, Array]:
    order = np.argsort(x, axis=dim)
    return np.take_along_axis(x, order, axis=dim), order, np.argsort(order, axis=dim)


@numpy_sort.register_fake
def _(x: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    indices = opwright.empty(x.shape, dtype=opwright.int64, device=x.device)
    return x.new_empty(x.shape), indices, opwright.empty_like(indices)


def _keep_order(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    _, order, inverse = output
    ctx.dim = inputs[1]
    ctx.save_for_backward(order, inverse)
    ctx.mark_non_differentiable(order, inverse)


def _sort_backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, None]:
    order, inverse = ctx.saved_tensors
    return numpy_take(grad, inverse, order, ctx.dim), None


numpy_sort.register_autograd(_sort_backward, setup_context=_keep_order)


@numpy_sort.register_vmap
def _(info: Any, in_dims: tuple[int, None], x: Tensor, dim: int) -> Any:
    x = x.movedim(in_dims[0], 0)
    return numpy_sort(x, dim % (x.dim() - 1) + 1), (0, 0, 0)


@custom_op("custom_op_db::numpy_take", mutates_args=())
def numpy_take(x: Array, ind: Array, ind_inv: Array, dim: int) -> Array:
    return np.take_along_axis(x, ind, axis=dim)


@numpy_take.register_fake
def _(x: Tensor, ind: Tensor, ind_inv: Tensor, dim: int) -> Tensor:
    assert x.device == ind.device == ind_inv.device, "all on one device"
    assert ind.dtype == ind_inv.dtype == opwright.int64, "indices are of dtype int64"
    return x.new_empty(x.shape)


def _keep_indices(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ind, ind_inv, ctx.dim = inputs
    ctx.save_for_backward(ind, ind_inv)


def _take_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
    ind, ind_inv = ctx.saved_tensors
    return numpy_take(grad, ind_inv, ind, ctx.dim), None, None, None


numpy_take.register_autograd(_take_backward, setup_context=_keep_indices)


@numpy_take.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], x: Tensor, ind: Tensor, ind_inv: Tensor, dim: int) -> Any:
    rank = x.dim() - (in_dims[0] is not None)
    first = [
        each.expand(info.batch_size, *each.shape) if at is None else each.movedim(at, 0)
        for each, at in zip((x, ind, ind_inv), in_dims, strict=False)
    ]
    return numpy_take(*first, dim % rank + 1), 0


@custom_op("custom_op_db::numpy_nonzero", mutates_args=())
def numpy_nonzero(x: Array) -> Array:
    return np.stack(np.nonzero(x), axis=1)


@numpy_nonzero.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty([get_ctx().new_dynamic_size(), x.dim()], dtype=opwright.int64)


@custom_op("custom_op_db::numpy_nms", mutates_args=())
def numpy_nms(boxes: Array, scores: Array, iou_threshold: Number) -> Array:
    """The boxes to keep, best first: none that overlaps a better one by more than the threshold."""
    areas = np.prod(boxes[:, 2:] - boxes[:, :2] + 1, axis=1)
    order = scores.argsort()[::-1]
    kept: list[int] = []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(best)
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = np.prod(np.maximum(high - low + 1, 0), axis=1)
        order = rest[shared / (areas[best] + areas[rest] - shared) <= iou_threshold]
    return np.array(kept, np.int64)


@numpy_nms.register_fake
def _(boxes: Tensor, scores: Tensor, iou_threshold: Number) -> Tensor:
    assert boxes.device == scores.device, f"boxes are on {boxes.device}, scores on {scores.device}"
    count = boxes.shape[0]
    assert boxes.shape == (count, 4) and scores.shape == (count,), f"{boxes.shape} boxes, {scores.shape} scores"
    return boxes.new_empty([get_ctx().new_dynamic_size()], dtype=opwright.int64)


@custom_op("custom_op_db::numpy_view_copy", mutates_args=())
def numpy_view_copy(x: Array, shape: Sequence[int]) -> Array:
    return x.reshape(shape).copy()


@numpy_view_copy.register_fake
def _(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.clone().reshape(shape).contiguous()


def _keep_shape(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.shape = inputs[0].shape


def _view_copy_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return numpy_view_copy(grad, ctx.shape), None


numpy_view_copy.register_autograd(_view_copy_backward, setup_context=_keep_shape)


@numpy_view_copy.register_vmap
def _(info: Any, in_dims: tuple[int, None], x: Tensor, shape: Sequence[int]) -> Any:
    x = x.movedim(in_dims[0], 0)
    return numpy_view_copy(x, (x.shape[0], *shape)), 0


@custom_op("custom_op_db::numpy_cat", mutates_args=())
def numpy_cat(xs: Sequence[Array], dim: int) -> Array:
    return np.ascontiguousarray(np.concatenate(xs, axis=dim))


@numpy_cat.register_fake
def _(xs: Sequence[Tensor], dim: int) -> Tensor:
    assert len({x.device for x in xs}) == len({x.dtype for x in xs}) == 1, "one device, one dtype, at least one tensor"
    return opwright.cat(xs, dim).contiguous()


def _keep_sizes(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    xs, ctx.dim = inputs
    ctx.sizes = [x.shape[ctx.dim] for x in xs]


def _cat_backward(ctx: Any, grad: Tensor) -> tuple[list[Tensor], None]:
    splits = np.cumsum(ctx.sizes)[:-1].tolist()
    return numpy_split_copy(grad, splits, ctx.dim), None


numpy_cat.register_autograd(_cat_backward, setup_context=_keep_sizes)


@custom_op("custom_op_db::numpy_split_copy", mutates_args=())
def numpy_split_copy(x: Array, splits: Sequence[int], dim: int) -> list[Array]:
    return [part.copy() for part in np.split(x, splits, axis=dim)]


@numpy_split_copy.register_fake
def _(x: Tensor, splits: Sequence[int], dim: int) -> list[Tensor]:
    return [part.contiguous().clone() for part in opwright.tensor_split(x, splits, dim)]


def _keep_dim(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.dim = inputs[2]


def _split_copy_backward(ctx: Any, grads: list[Tensor], *_: Any) -> tuple[Tensor, None, None]:
    return numpy_cat(grads, dim=ctx.dim), None, None


numpy_split_copy.register_autograd(_split_copy_backward, setup_context=_keep_dim)


@numpy_split_copy.register_vmap
def _(info: Any, in_dims: tuple[int, None, None], x: Tensor, splits: Sequence[int], dim: int) -> Any:
    x = x.movedim(in_dims[0], 0)
    return numpy_split_copy(x, splits, dim % (x.dim() - 1) + 1), 0


@custom_op("custom_op_db::numpy_split_copy_with_int", mutates_args=())
def numpy_split_copy_with_int(x: Array, splits: Sequence[int], dim: int) -> tuple[list[Array], int]:
    return [part.copy() for part in np.split(x, splits, axis=dim)], len(splits)


@numpy_split_copy_with_int.register_fake
def _(x: Tensor, splits: Sequence[int], dim: int) -> tuple[list[Tensor], int]:
    return [part.contiguous().clone() for part in opwright.tensor_split(x, splits, dim)], len(splits)


numpy_split_copy_with_int.register_autograd(_split_copy_backward, setup_context=_keep_dim)


@numpy_split_copy_with_int.register_vmap
def _(info: Any, in_dims: tuple[int, None, None], x: Tensor, splits: Sequence[int], dim: int) -> Any:
    x = x.movedim(in_dims[0], 0)
    parts, count = numpy_split_copy_with_int(x, splits, dim % (x.dim() - 1) + 1)
    return (parts, count), ([0] * len(parts), None)


@dataclass(frozen=True)
class Entry:
    """An operator and the arguments that it is tried with, of one dtype at a time."""

    op: CustomOpDef
    samples: Callable[[np.dtype[Any]], list[Sample]]
    is_differentiable: bool = True


def _orders(dtype: np.dtype[Any], dim: int) -> tuple[Array, Array, Array]:
    x = make((3, 4), dtype)
    order = np.argsort(x, axis=dim)
    return x, order, np.argsort(order, axis=dim)


def _boxes(dtype: np.dtype[Any], count: int) -> tuple[Array, Array]:
    low = make((count, 2), dtype, low=0, high=28)
    return np.concatenate([low, low + make((count, 2), dtype, low=0, high=4)], axis=1), make((count,), dtype, low=0)


def _splits(dtype: np.dtype[Any]) -> list[Sample]:
    return [sample(make((2, 9), dtype), [1, 3, 6], 1), sample(make((4, 3), dtype).T, [2], -1)]


ENTRIES = [
    Entry(
        numpy_cube,
        lambda dtype: [sample(make(shape, dtype)) for shape in [(3, 4), ()]] + [sample(make((3, 4), dtype).T)],
    ),
    Entry(
        numpy_mul,
        lambda dtype: [sample(make((3, 4), dtype), make(shape, dtype, seed=1)) for shape in [(3, 4), (4,), (3, 1), ()]],
    ),
    Entry(numpy_mul_scalar, lambda dtype: [sample(make((3, 4), dtype).T, scalar=scalar) for scalar in (3.0, -0.25)]),
    Entry(numpy_sort, lambda dtype: [sample(make((3, 4), dtype), dim) for dim in (0, 1, -1)]),
    Entry(numpy_take, lambda dtype: [sample(*_orders(dtype, dim), dim) for dim in (0, -1)]),
    Entry(numpy_nonzero, lambda dtype: [sample(make((10,), dtype) * make((10,), BOOL))], is_differentiable=False),
    Entry(numpy_nms, lambda dtype: [sample(*_boxes(dtype, 64), at) for at in (0.3, 1)], is_differentiable=False),
    Entry(numpy_view_copy, lambda dtype: [sample(make((2, 3, 4), dtype), [2, 12]), sample(make((2, 3), dtype).T, [6])]),
    Entry(numpy_cat, lambda dtype: [sample([make((n, 3, 4), dtype) for n in (2, 4, 5)], 0)]),
    Entry(numpy_split_copy, _splits),
    Entry(numpy_split_copy_with_int, _splits),
]
DTYPES = (FLOAT64, FLOAT32, FLOAT16, INT64)
