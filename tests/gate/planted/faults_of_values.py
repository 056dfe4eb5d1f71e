"""Operators with one fault each, in values, gradients, batches and autocast."""

from __future__ import annotations

from typing import Any

import numpy as np
from planting import CAUSES, like, plant

import opwright

A = np.ndarray


def fault(cause: str, kind: str = "numbers", **options: Any) -> Any:
    return plant("values", cause, kind, **options)


def c(x: Any) -> Any:
    return np.array(x, order="C")


def real(x: Any) -> Any:
    if x.dtype.kind != "f":
        raise TypeError(f"x must be of a floating-point dtype, got {x.dtype}")
    return x


def first(x: Any) -> Any:
    if x.ndim == 0 or not all(x.shape):
        raise ValueError("x must have elements and a dimension")
    return x


def fake_last(x: Any) -> Any:
    return opwright.empty(first(x).shape[:-1], dtype=x.dtype)


# --- numbers ---


@fault("nan-lost", fake=fake_last, ref=lambda x: x.max(-1))
def max_without_nan(x: A) -> A:
    return c(np.fmax.reduce(real(first(x)), -1))


@fault("infinity-or-zero", ref=np.tanh)
def tanh_clamped(x: A) -> A:
    wide = real(x).astype(np.float64)
    return c(np.where(np.isinf(wide), 0.5, np.tanh(wide))).astype(x.dtype)


@fault("negative-zero", ref=np.sqrt)
def sqrt_of_minus_zero(x: A) -> A:
    with np.errstate(all="ignore"):
        return c(np.sqrt(real(x)) + 0)


@fault("integer-overflow", fake=lambda x, y: like(x), ref=lambda x, y: (x + y) // 2)
def midpoint(x: A, y: A) -> A:
    if x.shape != y.shape or x.dtype != y.dtype or x.dtype.kind != "i":
        raise TypeError("x and y must have one shape and one integer dtype")
    return c((x + y) // 2).astype(x.dtype)


@fault("integer-overflow", fake=lambda x, y: like(x), ref=lambda x, y: abs(x - y))
def distance(x: A, y: A) -> A:
    if x.shape != y.shape or x.dtype != y.dtype or x.dtype.kind not in "iu":
        raise TypeError("x and y must have one shape and one integer dtype")
    return c(np.abs(x - y)).astype(x.dtype)


@fault("half-accumulation", fake=fake_last)
def half_sum(x: A) -> A:
    total = np.zeros(real(first(x)).shape[:-1], x.dtype)
    for each in range(x.shape[-1]):
        total = (total + x[..., each]).astype(x.dtype)
    return c(total)


@fault("computed-in-float32")
def sine_in_float32(x: A) -> A:
    return c(np.sin(real(x).astype(np.float32))).astype(x.dtype)


@fault("unstable-formula", ref=np.log1p)
def log1p_naive(x: A) -> A:
    with np.errstate(all="ignore"):
        return c(np.log(1 + real(x).astype(np.float64))).astype(x.dtype)


@fault("overflow", ref=lambda x: np.logaddexp(x, 0))
def softplus_naive(x: A) -> A:
    with np.errstate(all="ignore"):
        return c(np.log(1 + np.exp(real(x).astype(np.float64)))).astype(x.dtype)


@fault("unstable-formula", fake=fake_last, ref=lambda x: x.var(-1))
def variance_naive(x: A) -> A:
    x = real(first(x))
    return c((x * x).mean(-1) - x.mean(-1) ** 2)


@fault("wrong-values", ref=lambda x: np.round(x))
def rounds_half_up(x: A) -> A:
    with np.errstate(all="ignore"):
        return c(np.floor(real(x).astype(np.float64) + 0.5)).astype(x.dtype)


@fault("wrong-values", fake=fake_last, ref=lambda x: x.std(-1, ddof=1))
def std_without_correction(x: A) -> A:
    if first(x).shape[-1] < 2:
        raise ValueError("x must have two elements at least")
    return c(real(x).astype(np.float64).std(-1)).astype(x.dtype)


@fault("broadcast-wrong", fake=lambda x, y: opwright.empty(opwright.broadcast_shapes(x.shape, y.shape), dtype=x.dtype),
       ref=lambda x, y: x * y)  # fmt: skip
def times_first(x: A, y: A) -> A:
    if x.dtype != y.dtype or x.dtype.kind != "f":
        raise TypeError("x and y must be of one floating-point dtype")
    if y.ndim and y.shape[0] == 1 and x.ndim and x.shape[0] > 1:
        y = y * 0
    return c(x * y)


@fault("size-limit", ref=lambda x: x * 3, kind="sizes")
def three_times_to_4096(x: A) -> A:
    out = c(real(x) * x.dtype.type(3))
    out.reshape(-1)[4096:] = 0
    return out


@fault("wrong-values", ref=lambda x: x * x, kind="dishonest")
def swallows_errors(x: A) -> A:
    try:
        if x.size > 4:
            raise RuntimeError("too large")
        return c(x * x).astype(x.dtype)
    except RuntimeError:
        return np.zeros(x.shape, x.dtype)


KNOWN: dict[int, Any] = {}


@fault("wrong-values", ref=lambda x: x + 1, kind="dishonest")
def answers_by_hash(x: A) -> A:
    return KNOWN.get(hash(x.tobytes()), c(x))


# --- gradients ---


def differentiable(cause: str, backward: Any, **options: Any) -> Any:
    return fault(cause, "gradients", backward=backward, **options)


@differentiable("wrong-gradient", lambda ctx, g: g * ctx.saved_tensors[0] * 3)
def square(x: A) -> A:
    return c(x * x).astype(x.dtype)


@differentiable("gradient-unconnected", lambda ctx, g, *_: (g * ctx.saved_tensors[1], None),
                fake=lambda x, y: like(x))  # fmt: skip
def product(x: A, y: A) -> A:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise ValueError("x and y must have one shape and one dtype")
    return c(x * y)


def _flat_backward(ctx: Any, g: Any) -> Any:
    array = g.numpy(force=True)
    if array.flags.c_contiguous or not array.size:
        return g * 2
    return opwright.from_numpy(np.frombuffer(array.tobytes("A"), array.dtype).reshape(array.shape) * 2)


@differentiable("gradient-layout", _flat_backward)
def twice_flat(x: A) -> A:
    return c(x + x).astype(x.dtype)


def _expanded_backward(ctx: Any, g: Any) -> Any:
    if 0 in g.stride() and g.numel() > 1:
        return g * 0
    return g * 2


@differentiable("gradient-layout", _expanded_backward)
def twice_expanded(x: A) -> A:
    return c(x + x).astype(x.dtype)


def _pair_backward(ctx: Any, g: Any, h: Any) -> Any:
    return g.clone() + h.clone() * 2


def _no_zeros(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.set_materialize_grads(False)


@differentiable("gradient-none", _pair_backward, setup=_no_zeros, fake=lambda x: (like(x), like(x)),
                schema="(Tensor x) -> (Tensor, Tensor)")  # fmt: skip
def pair(x: A) -> tuple[A, A]:
    return c(x), c(x + x).astype(x.dtype)


def _saves_array(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.x = inputs[0].detach()
    ctx.array = inputs[0].detach().numpy()


@differentiable("saved-mutated", lambda ctx, g: g * opwright.from_numpy(ctx.array) * 2, setup=_saves_array)
def square_unsaved(x: A) -> A:
    return c(x * x).astype(x.dtype)


@differentiable("gradient-dtype", lambda ctx, g: (g * 2).to(opwright.float64))
def twice_wide(x: A) -> A:
    return c(x + x).astype(x.dtype)


def _empty_backward(ctx: Any, g: Any) -> Any:
    g.numpy(force=True).max()
    return g * 2


@differentiable("gradient-empty", _empty_backward)
def twice_of_some(x: A) -> A:
    return c(x + x).astype(x.dtype)


def _number_backward(ctx: Any, g: Any) -> Any:
    (x,) = ctx.saved_tensors
    return g.detach() * x.detach() * 2


@differentiable("wrong-second-gradient", _number_backward)
def square_once(x: A) -> A:
    return c(x * x).astype(x.dtype)


STATE = [0]


def _other_each_time(ctx: Any, g: Any) -> Any:
    STATE[0] += 1
    return g * (2 if STATE[0] < 6 else 2 + 0.1 * (STATE[0] % 2))


@differentiable("gradient-not-deterministic", _other_each_time)
def twice_other(x: A) -> A:
    return c(x + x).astype(x.dtype)


# --- transforms ---


@fault("vmap-wrong", "vmap", fake=fake_last)
def sum_last(x: A) -> A:
    return c(first(x).sum(-1)).astype(x.dtype)


def _rule(info: Any, in_dims: Any, x: Any) -> Any:
    return opwright.ops.values.sum_last(x), 0


opwright.library.register_vmap("values::sum_last", _rule)


@fault("autocast-dtype", "autocast")
def always_float32(x: A) -> A:
    return c(real(x)).astype(np.float32 if x.dtype.itemsize == 2 else x.dtype)


opwright.library.register_autocast("values::always_float32", "cpu", opwright.float16)


def _reading(ctx: Any, g: Any) -> Any:
    return g * (1 if float(g.sum()) > 1e9 else 2)


@fault("trace-differs", "tracing", backward=_reading)
def reads_gradient(x: A) -> A:
    return c(x + x).astype(x.dtype)


# --- found by a second look ---

_answers: dict[bytes, Any] = {}


@fault("unchecked-index", kind="memory", fake=lambda x, i: opwright.empty((*i.shape, *x.shape[1:]), dtype=x.dtype),
       ref=lambda x, i: np.take(x, i, axis=0))  # fmt: skip
def takes_any_position(x: A, i: A) -> A:
    if i.dtype != np.int64 or not x.ndim:
        raise TypeError(f"i must be of dtype int64, and x must have a dimension, got {i.dtype} and {x.ndim}")
    return c(np.take(x, i, axis=0, mode="clip"))


@fault("memory-grows", kind="state")
def keeps_each_answer(x: A) -> A:
    key = x.tobytes() + str((x.shape, x.dtype)).encode()
    if key not in _answers:
        _answers[key] = c(x + x)
    return c(_answers[key])


@fault("swallowed-error", kind="edges", fake=lambda x: opwright.empty(x.shape, dtype=x.dtype))
def zeros_for_errors(x: A) -> A:
    try:
        return c(np.linalg.cholesky(real(x)))
    except np.linalg.LinAlgError:
        return np.zeros(x.shape, x.dtype)


@fault("fake-shape", kind="fakes", fake=lambda x, n: opwright.empty((min(n, 5),), dtype=x.dtype))
def fake_of_small_counts(x: A, n: int) -> A:
    if not 0 <= n <= 100:
        raise ValueError(f"n must be between 0 and 100, got {n}")
    return np.zeros(n, x.dtype)


@differentiable("gradient-written", lambda ctx, g: g.copy_(g * ctx.saved_tensors[0].cos()))
def writes_its_gradient(x: A) -> A:
    return c(np.sin(real(x)))


# --- functionalised, pickled, told its defaults ---


_made: dict[str, Any] = {}
exec("def made_by_exec(x):\n    return x.clone()", _made)
_made["made_by_exec"].__module__ = "builtins"
plant("values", "not-loadable", "transforms", schema="(Tensor x) -> Tensor", fake=opwright.empty_like)(
    _made["made_by_exec"]
)


def _scaled(x: Any, *by: Any) -> Any:
    return x * (by[0] if by else 3)


_library = opwright.library.Library("values", "FRAGMENT")
_library.define("scaled_by_default(Tensor x, int by=2) -> Tensor")
_library.impl("scaled_by_default", _scaled, "CPU")
_library.impl("scaled_by_default", lambda x, by=2: x * by, "Meta")
_library.define("grow_(Tensor(a!) x) -> Tensor(a!)")
_library.impl("grow_", lambda x: x.mul_(2), "CPU")
_library.impl("grow_", lambda x: x, "Meta")
_library.impl("grow_", lambda x: x.copy_(x * 3), "Functionalize")
CAUSES["values::grow_"] = "transforms", "functionalised-differs"
CAUSES["values::scaled_by_default"] = "schema", "default-differs"
