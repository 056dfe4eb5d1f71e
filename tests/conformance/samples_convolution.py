"""Samples of convolutions and of windows as columns. Values are small whole numbers, so that sums are exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sampling import BOOL, COMPLEX64, DTYPES, FLOAT32, FLOAT64, INT64, Array, Sample, bfloat16, make, sample

Samples = Callable[[], Iterable[Sample]]


def whole(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int = 0) -> Array:
    """Whole numbers from -3 to 3."""
    values = make(shape, INT64, seed=seed, low=-3, high=4)
    return np.abs(values).astype(dtype) if dtype.kind in "ub" else values.astype(dtype)


def channels_last(array: Array) -> Array:
    """The same elements stored with the channels last."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def operands(ndim: int, dtype: np.dtype[Any], transposed: bool, groups: int = 1) -> tuple[Array, Array, Array]:
    sizes, kernel = (7, 6, 5)[:ndim], (3, 2, 2)[:ndim]
    weight = (4, 6 // groups, *kernel) if transposed else (6, 4 // groups, *kernel)
    return whole((2, 4, *sizes), dtype), whole(weight, dtype, 1), whole((6,), dtype, 2)


# stride, padding, dilation
WINDOWS: tuple[tuple[list[int], list[int], list[int]], ...] = (
    ([1], [0], [1]), ([2], [1], [1]), ([1], [2], [2]), ([3], [0], [1]), ([2], [1], [3]), ([1], [9], [1]),
)  # fmt: skip
REFUSED: tuple[tuple[list[int], list[int], list[int]], ...] = (
    ([0], [0], [1]), ([1], [-1], [1]), ([1], [0], [0]), ([1], [0], [9]), ([1, 1, 1, 1], [0], [1]),
)  # fmt: skip


def general() -> Iterator[Sample]:
    for transposed in (False, True):
        for dtype in DTYPES:
            yield from in_every_way(dtype, transposed)
        for ndim in (1, 2, 3):
            x, w, b = operands(ndim, FLOAT32, transposed)
            for stride, padding, dilation in (*WINDOWS, *REFUSED):
                yield sample(x, w, b, stride, padding, dilation, transposed, [0], 1)
            for dtype in (FLOAT32, FLOAT64):
                x, w, _ = operands(ndim, dtype, transposed, 2)
                yield sample(x, w, None, [2], [1], [1], transposed, [1], 2)
                yield sample(x, w, None, [1] * ndim, [0] * ndim, [2] * ndim, transposed, [1] * ndim, 2)
            yield sample(x[:0], w, None, [1], [0], [1], transposed, [0], 2)
        yield from in_every_layout(transposed)
        yield from refused(transposed)


def in_every_way(dtype: np.dtype[Any], transposed: bool) -> Iterator[Sample]:
    for ndim in (1, 2, 3):
        x, w, b = operands(ndim, dtype, transposed)
        yield sample(x, w, b, [1], [1], [1], transposed, [0], 1)
        yield sample(x, w, None, [2], [0], [1], transposed, [0], 1)
        yield sample(x, w, None, [1], [0], [2], transposed, [0], 1)


def in_every_layout(transposed: bool) -> Iterator[Sample]:
    options = ([1], [1], [1], transposed, [0], 1)
    for dtype in (FLOAT32, FLOAT64, bfloat16, COMPLEX64):
        for ndim in (1, 2, 3):
            x, w, b = operands(ndim, dtype, transposed)
            yield sample(channels_last(x), w, b, *options)
            yield sample(x, channels_last(w), b, *options)
            yield sample(channels_last(x), channels_last(w), b, *options)
            yield sample(x[:, ::-1].copy()[:, ::-1][:, :, ::2].copy(), w, b, *options)
    x, w, b = operands(2, FLOAT32, transposed)
    yield sample(channels_last(whole((2, 8, 7, 6), FLOAT32))[:, ::2], w, b, *options)
    yield sample(np.swapaxes(x, 2, 3), w, b, *options)
    yield sample(x[..., ::2], w[..., ::2], b, *options)
    yield sample(x[:, :1], w[:1] if transposed else w[:, :1], b, *options)
    yield sample(channels_last(x[:, :1]), w[:1] if transposed else w[:, :1], b, *options)
    yield sample(channels_last(x), whole((4, 4, 1, 1), FLOAT32), None, *options)
    yield sample(x, whole((4, 4, 1, 1), FLOAT32), None, *options)
    yield sample(whole((2, 4, 1, 1), FLOAT32), whole((4, 4, 1, 1), FLOAT32), None, *options)


def refused(transposed: bool) -> Iterator[Sample]:
    x, w, b = operands(2, FLOAT32, transposed)
    plain = ([1], [0], [1], transposed, [0])
    for groups in (0, -1, 3, 2, 12):
        yield sample(x, w, None, *plain, groups)
    yield from (sample(*each, *plain, 1) for each in ((x, w, b[:3]), (x, w, b[None]), (x[:, :3], w, b), (x[0], w, b)))
    yield sample(x, w[0], b, *plain, 1)
    yield sample(whole((3, 4), FLOAT32), whole((3, 4), FLOAT32), None, *plain, 1)
    yield sample(x, w.astype(np.float64), b, *plain, 1)
    yield sample(x, w, b.astype(np.float64), *plain, 1)
    yield sample(x[:, :, :0], w, b, *plain, 1)
    yield from (sample(x, w, b, [2], [0], [1], transposed, [more], 1) for more in (-1, 2, 5))


def general_with_options() -> Iterator[Sample]:
    """Every seventh of `general`, with what only other backends look at."""
    for one in list(general())[::7]:
        yield sample(*one.args, False, True, True, False)


def of_rank(ndim: int, transposed: bool = False) -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, INT64, BOOL, bfloat16):
        x, w, b = operands(ndim, dtype, transposed)
        yield from (sample(x, w), sample(x, w, b), sample(x[0], w, b))
    x, w, b = operands(ndim, FLOAT32, transposed)
    grouped = operands(ndim, FLOAT32, transposed, 2)[1]
    if transposed:
        yield sample(x, w, b, [2], [1], [1], 1, [1])
        yield sample(x, grouped, None, [2] * ndim, [0], [1] * ndim, 2, [2])
    else:
        yield sample(x, w, b, [2], [1], [2])
        yield sample(x, grouped, None, [1], [0], [1], 2)
    yield from (sample(x[None], w), sample(x[0, 0], w), sample(x, w[0]))


def by_name(ndim: int) -> Iterator[Sample]:
    x, w, b = operands(ndim, FLOAT32, False)
    for padding in ("same", "valid", "other"):
        for dilation in ([1], [2] * ndim):
            yield sample(x, w, b, [1], padding, dilation)
            yield sample(channels_last(x), w, b, [1] * ndim, padding, dilation)
        yield sample(x, w, b, [2], padding)
        yield from (sample(x[0], w, None, [1], padding), sample(x, w[0], None, [1], padding))
        yield sample(x, w, b, [1] * 5, padding)
    yield sample(x, whole((6, 4, *(4, 3, 1)[:ndim]), FLOAT32), b, [1], "same")


def image_columns() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(whole((2, 3, 6, 5), dtype), [2, 3], [1, 1], [0, 0], [1, 1])
    x = whole((2, 3, 6, 5), FLOAT32)
    for array in (x, channels_last(x), x[0], np.swapaxes(x, 2, 3), x[..., ::2], x[:0]):
        yield sample(array, [2, 2], [2, 1], [1, 1], [1, 2])
        yield sample(array, [3, 2], [1, 1], [0, 2], [2, 1])
    for array in (x[0, 0], x[None], x[:, :0], x[:, :, :0]):
        yield sample(array, [2, 2], [1, 1], [0, 0], [1, 1])
    for lists in (
        ([7, 2], [1, 1], [0, 0], [1, 1]), ([0, 1], [1, 1], [0, 0], [1, 1]), ([2, 2], [0, 1], [0, 0], [1, 1]),
        ([2, 2], [1, 1], [-1, 0], [1, 1]), ([2, 2], [1, 1], [0, 0], [0, 1]), ([2, 2, 2], [1, 1], [0, 0], [1, 1]),
    ):  # fmt: skip
        yield sample(x, *lists)


def columns_image() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(whole((2, 12, 12), dtype), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    x = whole((2, 12, 12), FLOAT32)
    for array in (x, x[0], np.swapaxes(x, 1, 2), x[:0], whole((2, 24, 12), FLOAT32)[:, ::2]):
        yield sample(array, [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
        yield sample(array, [5, 7], [2, 2], [1, 2], [0, 1], [2, 2])
        yield sample(array, [6, 4], [2, 2], [1, 1], [1, 0], [2, 1])
    for lists in (
        ([4, 4], [2, 2], [1, 1], [0, 0], [1, 1]), ([4, 5], [5, 1], [1, 1], [0, 0], [1, 1]),
        ([0, 5], [2, 2], [1, 1], [0, 0], [1, 1]), ([4, 5], [2, 2], [1, 1], [0, 0], [0, 1]),
        ([4, 5], [2, 2], [1, 1], [-1, 0], [1, 1]), ([4, 5], [2, 2], [0, 1], [0, 0], [1, 1]),
    ):  # fmt: skip
        yield sample(x, *lists)
    yield from (sample(each, [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]) for each in (x[0, 0], x[None], x[:, :0]))


SAMPLES: dict[str, Samples] = {
    "convolution": general,
    "_convolution": general_with_options,
    **{f"conv{ndim}d": partial(of_rank, ndim) for ndim in (1, 2, 3)},
    **{f"conv{ndim}d.padding": partial(by_name, ndim) for ndim in (1, 2, 3)},
    "conv_transpose1d": partial(of_rank, 1, True),
    **{f"conv_transpose{ndim}d.input": partial(of_rank, ndim, True) for ndim in (2, 3)},
    "im2col": image_columns,
    "col2im": columns_image,
}
