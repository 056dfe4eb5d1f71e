"""Samples of pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from samples_convolution import channels_last, whole
from sampling import DTYPES, FLOAT32, FLOAT64, INT64, Array, Sample, bfloat16, make, sample

Samples = Callable[[], Iterable[Sample]]
SIZES = (7, 6, 5)


def images(ndim: int) -> Iterator[Array]:
    """Of every dtype and layout, with and without a batch."""
    shape = (2, 3, *SIZES[3 - ndim :])
    for dtype in DTYPES:
        yield whole(shape, dtype)
    for dtype in (FLOAT32, FLOAT64, INT64, bfloat16):
        yield channels_last(make(shape, dtype))
    x = make(shape, FLOAT32)
    yield from (x[0], channels_last(x)[0], np.swapaxes(x, -1, -2) if ndim > 1 else x[..., ::-1].copy(), x[:0])
    yield channels_last(make((2, 6, *SIZES[3 - ndim :]), FLOAT32))[:, ::2]
    yield np.moveaxis(make((*SIZES[3 - ndim :], 3), FLOAT32), -1, 0)
    yield x[:, :1]


def misshapen(ndim: int) -> Iterator[Array]:
    x = make((2, 3, *SIZES[3 - ndim :]), FLOAT32)
    yield from (x[0, 0], x[None], x[:, :0], x[..., :0])


def special_values(ndim: int) -> Iterator[Array]:
    x = make((1, 2, *SIZES[3 - ndim :]), FLOAT32)
    x[..., 1] = np.nan
    x[..., 2] = -np.inf
    x[..., 3] = np.inf
    yield x
    yield np.full_like(x, -np.inf)
    yield np.full_like(x, np.nan)
    yield channels_last(x)


# kernel, stride, padding
WINDOWS: tuple[tuple[list[int], list[int], list[int]], ...] = (
    ([2], [], [0]), ([3], [2], [1]), ([3], [1], [1]), ([2], [3], [1]), ([4], [3], [2]), ([1], [2], [0]),
)  # fmt: skip
REFUSED: tuple[tuple[list[int], list[int], list[int]], ...] = (
    ([0], [1], [0]), ([2], [0], [0]), ([2], [1], [-1]), ([2], [1], [2]), ([9], [1], [0]), ([2] * 5, [1], [0]),
    ([2], [1] * 5, [0]), ([2], [1], [0] * 5),
)  # fmt: skip


def maxima(ndim: int) -> Iterator[Sample]:
    for array in (*images(ndim), *special_values(ndim)):
        yield sample(array, [2])
        yield sample(array, [3], [2], [1], [1], True)
        yield sample(array, [2], [1], [1], [2])
    for array in misshapen(ndim):
        yield sample(array, [2])
    x = make((2, 3, *SIZES[3 - ndim :]), FLOAT32)
    for kernel, stride, padding in (*WINDOWS, *REFUSED):
        yield from (sample(x, kernel, stride, padding, [1], ceil_mode) for ceil_mode in (False, True))
    yield from (sample(x, [2], [1], [0], dilation) for dilation in ([0], [5], [1] * 5))
    yield sample(x, [2, 3, 1][:ndim], [1, 2, 3][:ndim], [1, 0, 0][:ndim])


def averages(ndim: int) -> Iterator[Sample]:
    for array in (*images(ndim), *special_values(ndim)):
        yield sample(array, [2])
        yield sample(array, [3], [2], [1], True, False)
    yield from (sample(array, [2]) for array in misshapen(ndim))
    x = whole((2, 3, *SIZES[3 - ndim :]), FLOAT32)
    for kernel, stride, padding in (*WINDOWS, *REFUSED):
        for ceil_mode in (False, True):
            yield from (sample(x, kernel, stride, padding, ceil_mode, counted) for counted in (False, True))
    if ndim > 1:
        yield from (sample(x, [2], [], [0], False, True, divisor) for divisor in (1, 3, -2, 0))
        yield from (sample(x.astype(INT64), [2], [], [0], False, True, divisor) for divisor in (1, 3, -2))
        yield sample(x, [2, 3, 1][:ndim], [1, 2, 3][:ndim], [1, 0, 0][:ndim])


def adaptive(ndim: int) -> Iterator[Sample]:
    for array in (*images(ndim), *special_values(ndim)):
        yield sample(array, [2, 4, 3][:ndim])
    for array in misshapen(ndim):
        yield sample(array, [2] * ndim)
    x = make((2, 3, *SIZES[3 - ndim :]), FLOAT32)
    for wanted in ([1], [5], [9], [0], [-1]):
        yield sample(x, wanted * ndim)
    yield sample(channels_last(x), [1] * ndim)
    yield sample(x, [2] * 5)


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("max_pool1d", "max_pool1d_with_indices"), partial(maxima, 1)),
    **dict.fromkeys(("max_pool2d", "max_pool2d_with_indices"), partial(maxima, 2)),
    **dict.fromkeys(("max_pool3d", "max_pool3d_with_indices"), partial(maxima, 3)),
    **{f"avg_pool{ndim}d": partial(averages, ndim) for ndim in (1, 2, 3)},
    **{f"adaptive_max_pool{ndim}d": partial(adaptive, ndim) for ndim in (1, 2, 3)},
    **{f"adaptive_avg_pool{ndim}d": partial(adaptive, ndim) for ndim in (1, 2, 3)},
    **{f"_adaptive_avg_pool{ndim}d": partial(adaptive, ndim) for ndim in (2, 3)},
}
