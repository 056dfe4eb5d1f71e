"""Operators with one fault each, in memory, fakes, state, honesty, schema and edges."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import threading
import time
from typing import Any

import numpy as np
from planting import plant

import opwright

A = np.ndarray


def fault(cause: str, kind: str, **options: Any) -> Any:
    return plant("faults", cause, kind, **options)


def c(x: Any) -> Any:
    return np.array(x, order="C")


# --- writes ---


@fault("undeclared-write", "mutation")
def writes_always(x: A) -> A:
    x *= 2
    return c(x)


@fault("undeclared-write", "mutation")
def writes_nan(x: A) -> A:
    if x.dtype.kind in "fc":
        x[np.isnan(x)] = 0
    return c(x)


@fault("undeclared-write", "mutation")
def writes_negative(x: A, y: A) -> A:
    if y.size and y.dtype.kind == "f" and (y < -5).any():
        y[...] = 0
    return c(x)


@fault("undeclared-write", "mutation")
def writes_by_pointer(x: A) -> A:
    out = c(x)
    if x.size and x.itemsize > 1:
        ctypes.memset(x.ctypes.data, 0, x.itemsize)
    return out


@fault("undeclared-write", "mutation")
def writes_through_view(x: A) -> A:
    out = c(x)
    x.reshape(-1)[:1] = 1
    return out


@fault("write-not-made", "mutation", mutates={"x"}, schema="(Tensor(a!) x) -> ()", fake=None)
def never_writes(x: A) -> None:
    x.copy()[...] = 0


@fault("write-not-made", "mutation", mutates={"x"}, schema="(Tensor(a!) x) -> ()", fake=None)
def declared_not_done(x: A) -> None:
    if x.dtype.kind in "biu":
        x[...] = x == 0


@fault("write-not-made", "mutation", mutates={"out"}, schema="(Tensor x, Tensor(a!) out) -> Tensor",
       fake=lambda x, out: opwright.empty(x.shape, dtype=x.dtype))  # fmt: skip
def returns_instead(x: A, out: A) -> A:
    return c(x)


# --- aliases ---


@fault("undeclared-alias", "alias")
def itself(x: A) -> A:
    return x


@fault("undeclared-alias", "alias")
def itself_if_contiguous(x: A) -> A:
    return np.ascontiguousarray(x)


@fault("undeclared-alias", "alias")
def view_of_backwards(x: A) -> A:
    return x[...] if x.ndim and any(each < 0 for each in x.strides) else c(x)


@fault("outputs-share-memory", "alias", fake=lambda x: (opwright.empty(x.shape, dtype=x.dtype),) * 2)
def twins(x: A) -> tuple[A, A]:
    out = c(x)
    return out, out[...]


# --- fakes ---


@fault("fake-shape", "fakes", fake=lambda x: opwright.empty(x.shape[:-1], dtype=x.dtype))
def keeps_last(x: A) -> A:
    if x.ndim == 0:
        raise ValueError("x must have a dimension")
    return c(x.sum(-1, keepdims=True).astype(x.dtype))


@fault("fake-dtype", "fakes", fake=lambda x: opwright.empty(x.shape, dtype=opwright.float32))
def to_int(x: A) -> A:
    return np.ones(x.shape, np.int64)


@fault("fake-stride", "fakes", fake=lambda x: opwright.empty_like(x))
def row_major(x: A) -> A:
    return c(x)


@fault("fake-shape", "fakes", fake=lambda x: opwright.empty((min(x.shape[0], 500), *x.shape[1:]), dtype=x.dtype))
def large_rows(x: A) -> A:
    if x.ndim == 0:
        raise ValueError("x must have a dimension")
    return c(x)


@fault("no-fake", "fakes", fake=None)
def without_fake(x: A) -> A:
    return c(x)


@fault("fake-reads-data", "fakes", fake=lambda x: opwright.empty((int(x.sum().item()) * 0 + 1,), dtype=x.dtype))
def data_in_fake(x: A) -> A:
    return np.zeros(1, x.dtype)


@fault("fake-shape", "fakes", fake=lambda x: opwright.empty([s or 1 for s in x.shape], dtype=x.dtype))
def fake_of_empty(x: A) -> A:
    return c(x)


@fault("fake-shape", "fakes", fake=lambda x: opwright.empty(x.shape or (1,), dtype=x.dtype))
def fake_0d(x: A) -> A:
    return c(x)


@fault("fake-dtype", "fakes", fake=lambda x: opwright.empty(x.shape, dtype=x.dtype if x.numel() else opwright.float64))
def fake_dtype_empty(x: A) -> A:
    return c(x)


# --- layouts ---


@fault("order-assumed", "layouts")
def by_bytes(x: A) -> A:
    return np.frombuffer(x.tobytes("A"), x.dtype).reshape(x.shape).copy()


@fault("strides-ignored", "layouts")
def by_pointer(x: A) -> A:
    if any(each < 0 for each in x.strides) or x.flags.f_contiguous or not x.size:
        return c(x)
    return np.frombuffer(ctypes.string_at(x.ctypes.data, x.nbytes), x.dtype).reshape(x.shape).copy()


@fault("negative-strides", "layouts")
def absolute_strides(x: A) -> A:
    strides = tuple(abs(each) for each in x.strides)
    low = sum(min(each, 0) * (size - 1) for each, size in zip(x.strides, x.shape, strict=True))
    if not x.size or low == 0:
        return c(x)
    flat = np.lib.stride_tricks.as_strided(
        x[tuple(slice(None, None, -1 if s < 0 else 1) for s in x.strides)], x.shape, strides
    )
    return c(flat)


@fault("offset-ignored", "layouts")
def from_base(x: A) -> A:
    base = x if x.base is None else x.base
    if isinstance(base, np.ndarray) and base.ndim == 1 and x.flags.c_contiguous and base.dtype == x.dtype:
        return base[: x.size].reshape(x.shape).copy()
    return c(x)


@fault("alignment-assumed", "layouts")
def needs_alignment(x: A) -> A:
    if not x.flags.aligned:
        return np.zeros(x.shape, x.dtype)
    return c(x)


@fault("read-only-refused", "layouts")
def makes_writable(x: A) -> A:
    (ctypes.c_char * x.nbytes).from_buffer(np.ascontiguousarray(x))
    return c(x)


# --- bounds ---


@fault("access-past-end", "memory")
def reads_past_end(x: A) -> A:
    ctypes.string_at(np.ascontiguousarray(x).ctypes.data, x.nbytes + 1)
    return c(x)


@fault("access-past-end", "memory")
def reads_blocks(x: A) -> A:
    x = np.ascontiguousarray(x)
    ctypes.string_at(x.ctypes.data, -(-x.nbytes // 32) * 32)
    return c(x)


@fault("access-before-start", "memory")
def reads_before(x: A) -> A:
    x = np.ascontiguousarray(x)
    ctypes.string_at(x.ctypes.data - 8, 8)
    return c(x)


@fault("unwritten-element", "memory")
def leaves_last(x: A) -> A:
    out = np.empty(x.shape, x.dtype)
    if x.ndim:
        out[..., :-1] = x[..., :-1]
    return out


@fault("unwritten-element", "memory")
def leaves_rest_of_block(x: A) -> A:
    out = np.empty(x.size, x.dtype)
    whole = x.size // 4 * 4
    out[:whole] = x.ravel()[:whole]
    return out.reshape(x.shape)


@fault("unchecked-index", "memory")
def gathers(x: A, index: A) -> A:
    x = np.ascontiguousarray(x)
    for each in index.ravel():
        ctypes.string_at(x.ctypes.data + int(each) * x.itemsize, 1)
    return c(x)


@fault("access-past-end", "edges")
def short_second(x: A, y: A) -> A:
    ctypes.string_at(np.ascontiguousarray(y).ctypes.data, x.size * y.itemsize)
    return c(x)


# --- sizes ---


@fault("size-limit", "sizes")
def first_1024(x: A) -> A:
    out = np.zeros(x.shape, x.dtype)
    out.ravel()[:1024] = x.ravel()[:1024]
    return out


@fault("size-limit", "sizes")
def blocks_of_8(x: A) -> A:
    out = c(x)
    if x.ndim and x.shape[0] > 8:
        out[x.shape[0] // 8 * 8 :] = 0
    return out


@fault("size-refused", "sizes")
def sixteen_rows(x: A) -> A:
    if x.ndim and x.shape[0] > 16:
        buffer = np.zeros((16, *x.shape[1:]), x.dtype)
        buffer[...] = x
    return c(x)


@fault("size-limit", "sizes", fake=lambda x: opwright.empty((), dtype=opwright.float64))
def sum_of_100(x: A) -> A:
    return np.asarray(x.ravel()[:100].astype(np.float64).sum())


# --- state ---

SHAPES: dict[Any, Any] = {}


@fault("cache-by-shape", "state")
def cached_by_shape(x: A) -> A:
    return SHAPES.setdefault((x.shape, x.dtype), c(x)).copy()


@fault("cache-by-address", "state")
def cached_by_address(x: A) -> A:
    key = x.ctypes.data, x.shape, x.dtype
    return SHAPES.setdefault(key, c(x)).copy()


COUNT = [0]


@fault("counts-calls", "state")
def wrong_later(x: A) -> A:
    COUNT[0] += 1
    return c(x) if COUNT[0] < 40 else np.zeros(x.shape, x.dtype)


@fault("global-seed", "state")
def seeds(x: A) -> A:
    np.random.seed(0)
    return c(x)


@fault("global-seed", "state")
def draws_python(x: A) -> A:
    random.random()
    return c(x)


@fault("error-state", "state")
def sets_errors(x: A) -> A:
    np.seterr(all="ignore")
    return c(x)


@fault("print-options", "state")
def sets_print_options(x: A) -> A:
    np.set_printoptions(precision=3)
    return c(x)


@fault("environment", "state")
def sets_environment(x: A) -> A:
    os.environ["PLANTED_FAULT"] = "1"
    return c(x)


@fault("signal-handler", "state")
def sets_handler(x: A) -> A:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: None)
    return c(x)


FILES: list[Any] = []


@fault("file-left-open", "state")
def leaves_file_open(x: A) -> A:
    FILES.append(os.open(os.devnull, os.O_RDONLY))
    return c(x)


@fault("thread-left", "state")
def leaves_thread(x: A) -> A:
    threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
    return c(x)


@fault("keeps-reference", "state")
def keeps_argument(x: A) -> A:
    FILES.append(x)
    return c(x)


@fault("memory-grows", "state")
def leaks(x: A) -> A:
    FILES.append(object())
    FILES.append(bytearray(8))
    return c(x)


# --- determinism ---


@fault("not-deterministic", "determinism")
def random_noise(x: A) -> A:
    return c(x + (np.random.default_rng().random() * 1e-3 if x.dtype.kind == "f" else 0)).astype(x.dtype)


BUFFER = np.zeros(5000)


@fault("not-thread-safe", "determinism")
def shared_buffer(x: A) -> A:
    if x.dtype != np.float64 or x.size > 5000:
        return c(x)
    BUFFER[: x.size] = x.ravel()
    time.sleep(0.0005 if threading.active_count() > 1 else 0)
    return BUFFER[: x.size].reshape(x.shape).copy()


# --- honesty ---


@fault("unfinished-at-return", "dishonest")
def works_later(x: A) -> A:
    out = np.zeros(x.shape, x.dtype)

    def work() -> None:
        time.sleep(0.004)
        out[...] = x

    threading.Thread(target=work).start()
    return out


@fault("judge-patched", "dishonest")
def patches_clock(x: A) -> A:
    time.perf_counter = lambda: 0.0
    return c(x)


@fault("judge-patched", "dishonest")
def patches_comparison(x: A) -> A:
    np.allclose = lambda *_, **__: True  # type: ignore[assignment]
    return c(x)


def slow_double(x: Any) -> Any:
    return x * 2


@fault("calls-reference", "dishonest", ref=slow_double)
def calls_reference(x: A) -> A:
    try:
        return np.asarray(fast_double(x))  # type: ignore[name-defined]
    except NameError:
        return c(slow_double(x)).astype(x.dtype)


@fault("wrong-values", "dishonest", ref=lambda x: x * 2)
def constant(x: A) -> A:
    return np.full(x.shape, 2, x.dtype)


@fault("exits", "crash")
def exits(x: A) -> A:
    if x.size == 0:
        os._exit(7)
    return c(x)


@fault("exits", "crash")
def exits_by_system_exit(x: A) -> A:
    if x.size == 0:
        raise SystemExit(1)
    return c(x)


@fault("crash", "crash")
def null_pointer(x: A) -> A:
    if x.size == 0:
        ctypes.string_at(8, 1)
    return c(x)


# --- schema and edges ---


@fault("default-differs", "schema", schema="(Tensor x, float s=1.0) -> Tensor")
def other_default(x: A, s: float = 2.0) -> A:
    return c(x * s).astype(x.dtype)


@fault("refuses-none", "schema")
def no_none(x: A, w: A | None = None) -> A:
    return c(x * w.sum().astype(x.dtype)).astype(x.dtype)  # type: ignore[union-attr]


@fault("refuses-list-length", "schema", fake=lambda xs: opwright.empty(xs[0].shape, dtype=xs[0].dtype),
       schema="(Tensor[] xs) -> Tensor")  # fmt: skip
def two_alone(xs: Any) -> A:
    return c(xs[0].astype(np.int64) + xs[1].astype(np.int64)).astype(xs[0].dtype)


@fault("negative-dim", "schema", fake=lambda x, dim: opwright.empty(x.shape, dtype=x.dtype))
def positive_dims(x: A, dim: int) -> A:
    if x.ndim == 0:
        raise ValueError("x must have a dimension")
    return c(np.cumsum(x, range(x.ndim)[dim]) if dim >= 0 else x).astype(x.dtype)


@fault("refuses-empty", "edges")
def divides_by_largest(x: A) -> A:
    return c(x == x.max()).astype(x.dtype)


@fault("refuses-0-dim", "edges")
def counts_rows(x: A) -> A:
    return c(x) if len(x) >= 0 else x


@fault("refuses-list-length", "schema", schema="(Tensor x, int[] times) -> Tensor", fake=lambda x, times: like_first(x))
def two_numbers(x: A, times: list[int]) -> A:
    return c(x + (times[0] - times[1]) * 0).astype(x.dtype)


def like_first(x: Any) -> Any:
    return opwright.empty(x.shape, dtype=x.dtype)
