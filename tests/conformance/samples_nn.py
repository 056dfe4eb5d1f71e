"""Samples of linear layers, embeddings, dropout and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from samples_convolution import channels_last, whole
from sampling import (
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    LAYOUTS,
    Sample,
    bfloat16,
    laid_out,
    make,
    sample,
)

from opwright_kernels.layers.attention import attention as attention_of_arrays

Samples = Callable[[], Iterable[Sample]]


def linear() -> Iterator[Sample]:
    for dtype in DTYPES:
        x, w, b = whole((2, 3), dtype), whole((4, 3), dtype, 1), whole((4,), dtype, 2)
        yield from (sample(x, w), sample(x, w, b), sample(x[0], w, b))
    x, w, b = whole((5, 2, 3), FLOAT32), whole((4, 3), FLOAT32, 1), whole((4,), FLOAT32, 2)
    for array in (
        x,
        np.swapaxes(x, 0, 1),
        x[:, ::2],
        x[:0],
        x[None],
        x[None].swapaxes(1, 2),
        whole((2, 6), FLOAT32)[:, ::2],
    ):
        yield from (sample(array, w), sample(array, w, b), sample(array, w.T.copy().T, b))
    yield from (sample(x[0], w[0]), sample(x[0, 0], w[0]), sample(x[0], w, b[:1]), sample(x[0], w, b[0, ...]))
    yield from (sample(x[0], w[:, :2], b), sample(x[0], w[None], b), sample(x[0, 0, 0], w, b), sample(x, w, b[:3]))
    yield from (sample(x[0].astype(FLOAT64), w), sample(x, w, b.astype(FLOAT64)), sample(x[0], w[0], b[:1]))


def bilinear() -> Iterator[Sample]:
    for dtype in DTYPES:
        x, y, w = whole((2, 3), dtype), whole((2, 4), dtype, 1), whole((5, 3, 4), dtype, 2)
        yield from (sample(x, y, w), sample(x, y, w, whole((5,), dtype)), sample(x[0], y[0], w))
    x, y, w, b = (whole(shape, FLOAT32) for shape in ((6, 2, 3), (6, 2, 4), (5, 3, 4), (5,)))
    yield from (
        sample(x, y, w, b),
        sample(whole((2, 6, 3), FLOAT32).swapaxes(0, 1), y, w, b),
        sample(x[:0], y[:0], w, b),
    )
    yield from (sample(x, y[:1], w), sample(x, y[..., :3], w), sample(x[..., :2], y, w), sample(x, y, w, b[:4]))
    yield from (sample(x[0], y, w), sample(x, y, w[0]))


def embedding() -> Iterator[Sample]:
    index = np.array([[0, 4, 1], [2, 2, 3]])
    for dtype in DTYPES:
        yield sample(make((5, 3), dtype), index)
    table = make((5, 3), FLOAT32)
    for at in (
        index.T,
        index.astype(INT32),
        np.array(2),
        np.zeros((0, 2), np.int64),
        np.array([5]),
        np.array([-1]),
        table,
    ):
        yield sample(table, at)
    yield from (sample(table.T, np.array([0, 2])), sample(table[0], index), sample(table[None], index))
    yield from (sample(table, index, 1, True, False), sample(table[:0], np.zeros((0, 2), np.int64)))


def renormed() -> Iterator[Sample]:
    index = np.array([[0, 4], [0, 2]])
    for dtype in DTYPES:
        yield sample(make((5, 3), dtype), index, 1.0, 2.0)
    table = make((5, 3), FLOAT32)
    yield from (sample(table, index, 2.5, norm) for norm in (1.0, 0.0, 3.0, float("inf")))
    for at in (np.array([7]), np.array([-1]), np.array([], np.int64), index.astype(INT32)):
        yield sample(table, at, 1.0, 2.0)
    yield from (sample(each, np.array([0]), 1.0, 2.0) for each in (table.T, table[0], table[None]))


def classes() -> Iterator[Sample]:
    index = np.array([[0, 2, 1], [1, 1, 0]])
    for array in (
        index,
        index.T,
        np.array(1),
        np.zeros((0, 2), np.int64),
        index.astype(INT32),
        make((2,), FLOAT32),
        -index,
    ):
        yield from (sample(array, *more) for more in ((), (3,), (5,), (2,), (0,), (-2,)))


def kept_or_dropped(*choices: tuple[object, ...]) -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((3, 5), dtype), *choice) for choice in choices)
    for layout in LAYOUTS:
        yield from (sample(laid_out(layout, FLOAT32), *choice) for choice in choices)
    yield from (sample(channels_last(make((2, 3, 4, 5), FLOAT32)), *choice) for choice in choices)
    yield from (sample(np.array([1, np.inf, np.nan, 2], FLOAT32), *choice) for choice in choices)


DROPS = partial(kept_or_dropped, (0.4, True), (0.4, False), (0.0, True), (1.0, True), (-0.5, True), (1.5, False))


def flash_attention(has_gradient: bool) -> Iterator[Sample]:
    for dtype, causal in ((FLOAT32, False), (FLOAT64, True)):
        q, k, v = (make((2, 3, 5, 4), dtype, seed=seed, low=-2, high=3) for seed in range(3))
        mask = None if causal else make((2, 3, 5, 5), dtype, seed=9)
        if not has_gradient:
            yield sample(q, k, v, 0.0, causal, attn_mask=mask)
            continue
        result, logs = attention_of_arrays(q, k, v, mask, causal, 0.5)
        yield sample(make((2, 3, 5, 4), dtype, seed=4), q, k, v, result, logs, 0.0, causal, attn_mask=mask)


def attention(math: bool) -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, FLOAT16, bfloat16, INT64, BOOL):
        q, k, v = (make((2, 3, length, 4), dtype, seed=length, low=-2, high=3) for length in (5, 6, 7))
        yield sample(q, k, v[:, :, :6])
        yield sample(q[0], k[0], v[0, :, :6, :3])
    q, k, v = (make((2, 3, 5, 4), FLOAT32, seed=seed, low=-2, high=3) for seed in range(3))
    allowed, added = make((5, 5), BOOL), make((5, 5), FLOAT32, seed=9)
    added[0], added[1, :2] = -np.inf, -np.inf
    for mask in (added, added[None, None], make((2, 3, 5, 5), FLOAT32)):
        yield sample(q, k, v, mask)
    if not math:
        empty_row = allowed & (np.arange(5) != 2)[:, None]
        yield from (sample(q, k, v, each) for each in (allowed, empty_row, allowed[None], added.astype(INT64)))
        yield sample(q, k, v, added.astype(FLOAT64))
        yield sample(q[0], k[0], v[0], allowed)
    yield from (
        sample(q, k, v, None, 0.0, True),
        sample(q, make((2, 3, 7, 4), FLOAT32), make((2, 3, 7, 4), FLOAT32), None, 0.0, True),
    )
    yield from (sample(q, k, v, scale=scale) for scale in (0.3, 2.0))
    yield sample(make((2, 6, 5, 4), FLOAT32), k, v, enable_gqa=True)
    yield sample(make((2, 4, 5, 4), FLOAT32), k, v, enable_gqa=True)
    yield from (
        sample(q, k, v[:, :, :4]),
        sample(q, k[..., :3], v),
        sample(q, k.astype(FLOAT64), v),
        sample(q[:, :2], k, v),
    )
    yield sample(q[0, 0], k[0, 0], v[0, 0])
    yield sample(q, k, v, None, 0.25)


def safe() -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, FLOAT16, bfloat16):
        x = make((3, 4), dtype)
        x[1] = -np.inf
        yield from (sample(x, dim) for dim in (0, 1, -1))
        yield sample(x, -1, FLOAT64)


SAMPLES: dict[str, Samples] = {
    "linear": linear,
    "bilinear": bilinear,
    "embedding": embedding,
    "embedding_renorm": renormed,
    "one_hot": classes,
    "native_dropout": DROPS,
    **dict.fromkeys(("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"), DROPS),
    "scaled_dot_product_attention": partial(attention, False),
    "_scaled_dot_product_attention_math": partial(attention, True),
    "_scaled_dot_product_flash_attention_for_cpu": partial(flash_attention, False),
    "_scaled_dot_product_flash_attention_for_cpu_backward": partial(flash_attention, True),
    "_safe_softmax": safe,
}
