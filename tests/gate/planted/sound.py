"""Operators without a fault, of many kinds: about these the gate says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from planting import like, plant

import opwright
from opwright import Tensor

A = np.ndarray


def sound(**options: Any) -> Any:
    return plant("sound", "", "sound", **options)


def c(x: Any) -> Any:
    return np.array(x, order="C")


def first(x: Any) -> Any:
    if x.ndim == 0:
        raise ValueError("x must have a dimension")
    return x


def check_dim(x: Any, dim: int) -> int:
    if not -x.ndim <= dim < max(x.ndim, 1):
        raise IndexError(f"dim must be in [{-x.ndim}, {x.ndim}), got {dim}")
    return dim


# --- pointwise ---


@sound(ref=lambda x: x * 2)
def double(x: A) -> A:
    return c(x + x) if x.dtype.kind != "b" else c(x).astype(bool)


@sound(fake=lambda x: opwright.empty_like(x))
def keeps_layout(x: Tensor) -> Tensor:
    return x.clone()


def _real(x: Any) -> Any:
    if x.dtype.kind not in "f":
        raise TypeError(f"x must be of a floating-point dtype, got {x.dtype}")
    return x


def _sigmoid_backward(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    y = opwright.sigmoid(x)
    return grad * y * (1 - y)


@sound(ref=lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))),
       backward=_sigmoid_backward)  # fmt: skip
def sigmoid(x: A) -> A:
    wide = _real(x).astype(np.float64)
    e = np.exp(-np.abs(wide))
    return c(np.where(wide >= 0, 1 / (1 + e), e / (1 + e))).astype(x.dtype)


@sound(ref=lambda x: np.maximum(x, 0))
def relu(x: A) -> A:
    return c(np.where(np.isnan(_real(x)) | (x > 0), x, 0)).astype(x.dtype)


def _fake_add(x: Any, y: Any) -> Any:
    shape = opwright.broadcast_shapes(x.shape, y.shape)
    return opwright.empty(shape, dtype=x.dtype)


@sound(fake=_fake_add, ref=lambda x, y: x + y)
def add(x: A, y: A) -> A:
    if x.dtype != y.dtype or x.dtype.kind == "b":
        raise TypeError("x and y must have the same dtype, not bool")
    return c(x + y)


@sound(ref=lambda x, low, high: np.minimum(np.maximum(x, low), high))
def clip(x: A, low: float = -1.0, high: float = 1.0) -> A:
    wide = _real(x).astype(np.float64)
    return c(np.minimum(np.maximum(wide, low), high)).astype(x.dtype)


@sound()
def optional(x: A, w: A | None = None, s: float = 1.0) -> A:
    if w is not None and w.shape != x.shape:
        raise ValueError(f"w must have the shape of x, got {w.shape} and {x.shape}")
    return c(x if w is None else np.where(w.astype(bool), x, x))


@sound(fake=lambda x: opwright.empty(x.shape, dtype=opwright.bool))
def is_nan(x: A) -> A:
    return c(x != x)


@sound()
def round_half(x: A) -> A:
    return c(np.rint(_real(x).astype(np.float64) * 2) / 2).astype(x.dtype)


@sound()
def zeros(x: A) -> A:
    return np.zeros(x.shape, x.dtype)


def _half_of_pairs(ctx: Any, grad: Any) -> Any:
    if grad.ndim != 4:
        raise RuntimeError(f"a gradient must have four dimensions, got {grad.ndim}")
    return grad * 0.5


@sound(ref=lambda x: x * 0.5, backward=_half_of_pairs)
def gradient_of_images_alone(x: A) -> A:
    return c(_real(x).astype(np.float64) * 0.5).astype(x.dtype)


# --- reductions ---


@sound(fake=lambda x: opwright.empty(first(x).shape[:-1], dtype=x.dtype), ref=lambda x: x.sum(-1))
def sum_last(x: A) -> A:
    wide = np.float64 if x.dtype.kind in "fV" else x.dtype
    return c(first(x).astype(wide).sum(-1)).astype(x.dtype)


def _fake_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    dim = check_dim(x, dim) % max(x.ndim, 1)
    shape = [*x.shape[:dim], *([1] if keepdim and x.ndim else []), *x.shape[dim + 1 :]]
    return opwright.empty(shape, dtype=opwright.float64)


@sound(fake=_fake_dim)
def mean_dim(x: A, dim: int, keepdim: bool = False) -> A:
    check_dim(x, dim)
    if x.dtype.kind == "c":
        raise TypeError("x must be real, of no complex dtype")
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        return c(np.true_divide(wide.sum(dim, keepdims=keepdim), x.shape[dim] if x.ndim else 1)) if x.ndim else c(wide)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@sound(fake=lambda x: like(first(x)), ref=_softmax)
def softmax(x: A) -> A:
    if not first(x).size:
        return np.zeros(x.shape, x.dtype)
    wide = _real(x).astype(np.float64)
    with np.errstate(all="ignore"):
        e = np.exp(wide - wide.max(-1, keepdims=True))
        return c(e / e.sum(-1, keepdims=True)).astype(x.dtype)


@sound(
    fake=lambda x: (
        opwright.empty(first(x).shape[:-1], dtype=x.dtype),
        opwright.empty(x.shape[:-1], dtype=opwright.int64),
    )
)
def max_last(x: A) -> tuple[A, A]:
    if x.dtype.kind == "c" or not first(x).shape[-1]:
        raise ValueError("x must be real, and its last dimension must not be empty")
    at = x.argmax(-1)
    return c(np.take_along_axis(x, at[..., None], -1)[..., 0]), c(at).astype(np.int64)


@sound(fake=lambda x: opwright.empty((x.numel(),), dtype=x.dtype))
def ravel(x: A) -> A:
    return c(x).reshape(-1)


@sound(fake=lambda x: like(first(x)))
def cumulative(x: A) -> A:
    return c(np.cumsum(first(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64), -1)).astype(x.dtype)


# --- products ---


def _fake_mm(a: Any, b: Any) -> Any:
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype:
        raise ValueError("a and b must be matrices that fit, of one dtype")
    return opwright.empty((a.shape[0], b.shape[1]), dtype=a.dtype)


def _mm_backward(ctx: Any, grad: Any) -> Any:
    a, b = ctx.saved_tensors
    return grad @ b.mT, a.mT @ grad


@sound(fake=_fake_mm, backward=_mm_backward, ref=lambda a, b: a @ b)
def mm(a: A, b: A) -> A:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype or a.dtype.kind != "f":
        raise ValueError("a and b must be matrices that fit, of one floating-point dtype")
    return c(a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)


# --- lists ---


def _fake_cat(xs: Any) -> Any:
    return opwright.empty((sum(x.numel() for x in xs),), dtype=xs[0].dtype)


@sound(fake=_fake_cat, schema="(Tensor[] xs) -> Tensor")
def cat_flat(xs: Any) -> A:
    if not xs:
        raise ValueError("xs must not be empty")
    return np.concatenate([np.ravel(x) for x in xs]).astype(xs[0].dtype)


@sound(fake=lambda x, size: opwright.empty(size, dtype=x.dtype))
def filled(x: A, size: list[int]) -> A:
    if any(each < 0 for each in size):
        raise ValueError(f"size must not be negative, got {size}")
    return np.ones(size, x.dtype)


@sound(fake=lambda x: [opwright.empty(x.shape, dtype=x.dtype) for _ in range(2)], schema="(Tensor x) -> Tensor[]")
def two(x: A) -> Any:
    return [c(x), c(x)]


# --- writes ---


@sound(mutates={"x"}, schema="(Tensor(a!) x) -> ()", fake=None)
def relu_(x: A) -> None:
    if x.dtype.kind not in "fi":
        raise TypeError("x must be of a real dtype")
    x[x < 0] = 0


@sound(mutates={"x"}, schema="(Tensor(a!) x) -> Tensor(a!)", fake=None, tags=opwright.Tag.inplace)
def double_(x: Tensor) -> Tensor:
    array = x.numpy(force=True)
    np.add(array, array, out=array)
    return x


@sound(mutates={"x"}, schema="(Tensor(a!) x) -> ()", fake=None)
def nan_to_zero_(x: A) -> None:
    if x.dtype.kind != "f":
        raise TypeError("x must be of a floating-point dtype")
    x[np.isnan(x)] = 0


@sound(
    mutates={"out"},
    schema="(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    fake=None,
    tags=opwright.Tag.out,
)
def copied_out(x: Tensor, *, out: Tensor) -> Tensor:
    if x.shape != out.shape or x.dtype != out.dtype:
        raise ValueError("out must have the shape and the dtype of x")
    out.numpy(force=True)[...] = x.numpy(force=True)
    return out


@sound(mutates={"state"}, schema="(Tensor x, Tensor(a!) state) -> Tensor", fake=lambda x, state: like(x))
def running_count(x: A, state: A) -> A:
    if state.dtype.kind not in "iuf":
        raise TypeError("state must be of a real dtype")
    state += 1
    return c(x)


# --- views, random numbers, indices, complex ---

LIB = opwright.library.Library("sound", "FRAGMENT")
LIB.define("first_row(Tensor(a) x) -> Tensor(a)")


def _first_row(x: Tensor) -> Tensor:
    if x.dim() == 0 or x.shape[0] == 0:
        raise ValueError("x must have a row")
    return x[0]


LIB.impl("first_row", _first_row, "CPU")
LIB.impl("first_row", _first_row, "Meta")


@sound(tags=opwright.Tag.nondeterministic_seeded)
def dropout(x: A) -> A:
    keep = opwright.rand(*x.shape).numpy() < 0.5
    return c(np.where(keep, x, 0)).astype(x.dtype)


@sound(fake=lambda x, index: opwright.empty(index.shape, dtype=x.dtype))
def take(x: A, index: A) -> A:
    if index.dtype.kind not in "iu" or x.ndim == 0:
        raise TypeError("index must be of an integer dtype, and x must have a dimension")
    if index.size and (index.min() < 0 or index.max() >= x.size):
        raise IndexError("index is out of bounds")
    return c(x.ravel()[index])


@sound(fake=lambda x: opwright.empty(x.shape, dtype=x.dtype))
def conjugate(x: A) -> A:
    return c(np.conj(x)).astype(x.dtype)


@sound()
def sort_last(x: A) -> A:
    return c(np.sort(x, -1)) if x.ndim else c(x)


@sound(fake=lambda x: opwright.empty((), dtype=opwright.int64))
def count_nonzero(x: A) -> A:
    return np.asarray(np.count_nonzero(x))


@sound(fake=lambda x, dim: opwright.empty(x.shape, dtype=x.dtype) if check_dim(x, dim) < 99 else None)
def flip(x: A, dim: int) -> A:
    check_dim(x, dim)
    return c(np.flip(x, dim)) if x.ndim else c(x)


@sound(fake=lambda x: (like(x), like(x)), schema="(Tensor x) -> (Tensor, Tensor)",
       backward=lambda ctx, g, h: g + 2 * h)  # fmt: skip
def pair(x: A) -> tuple[A, A]:
    if x.dtype.kind == "b":
        raise TypeError("x must be a number, of no bool dtype")
    return c(x), c(x + x)


# --- what only some calls fit, in NumPy's own words ---


@sound(ref=lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
def softmax_of_some(x: A) -> A:
    wide = _real(x).astype(np.float64)
    with np.errstate(all="ignore"):
        e = np.exp(wide - wide.max(-1, keepdims=True))
        return c(e / e.sum(-1, keepdims=True)).astype(x.dtype)


@sound(fake=lambda x: x.new_empty(x.shape))
def of_matrices(x: A) -> A:
    rows, columns = x.shape
    return c(x.reshape(columns * rows).reshape(rows, columns))


@sound(tags=opwright.Tag.nondeterministic_seeded)
def numpy_noise(x: A) -> A:
    return c(_real(x) + np.asarray(np.random.rand(*x.shape)).astype(x.dtype))


@sound(fake=lambda x: x.new_empty(x.shape))
def layer_norm(x: A) -> A:
    wide = _real(x).astype(np.float64)
    with np.errstate(all="ignore"):
        return c((wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)).astype(x.dtype)
