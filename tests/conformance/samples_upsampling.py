"""Samples of images in other sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from samples_convolution import channels_last
from sampling import DTYPES, FLOAT32, FLOAT64, Array, Sample, bfloat16, make, sample

Samples = Callable[[], Iterable[Sample]]
SIZES = (7, 6, 5)


def image(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Far from 0, so that sums do not cancel and the order of their terms does not show."""
    return make(shape, dtype, low=20, high=41)


def images(ndim: int) -> Iterator[Array]:
    shape = (2, 3, *SIZES[:ndim])
    for dtype in DTYPES:
        yield image(shape, dtype)
    x = image(shape, FLOAT32)
    for dtype in (FLOAT32, FLOAT64, bfloat16):
        yield channels_last(image(shape, dtype))
    yield from (x[:1], x[:0], x[:, :1], np.swapaxes(x, 0, 2).copy().swapaxes(0, 2))
    yield channels_last(image((2, 6, *SIZES[:ndim]), FLOAT32))[:, ::2]
    yield from (x[0], x[None], x[:, :0], x[:, :, :0])


def by_size(ndim: int, *corners: bool, scales: Sequence[float] = (0.6, 2.0, 1.1, -1.0)) -> Iterator[Sample]:
    """`corners`: the values of `align_corners`, where there is such a parameter."""
    for corner in corners or (None,):
        aligned = () if corner is None else (corner,)
        for array in images(ndim):
            yield sample(array, [4, 13, 9][:ndim], *aligned)
        x = image((2, 3, *SIZES[:ndim]), FLOAT32)
        for size in ([1] * ndim, list(SIZES[:ndim]), [14, 12, 10][:ndim], [0] * ndim, [3] * (ndim + 1), [-1] * ndim):
            yield sample(x, size, *aligned)
        for scale in scales:
            yield sample(x, [8, 5, 11][:ndim], *aligned, *[scale] * ndim)
        yield sample(x.astype(FLOAT64), [8, 5, 11][:ndim], *aligned, *[1.7] * ndim)


def by_size_or_scale(ndim: int, *corners: bool) -> Iterator[Sample]:
    x = image((2, 3, *SIZES[:ndim]), FLOAT32)
    for corner in corners or (None,):
        aligned = () if corner is None else (corner,)
        for array in (x, channels_last(x), x.astype(FLOAT64)):
            yield sample(array, [4, 13, 9][:ndim], *aligned, None)
            yield from (sample(array, None, *aligned, [scale] * ndim) for scale in (0.5, 2.0, 1.3, 0.7))
        yield sample(x, None, *aligned, [1.5, 0.4, 2.2][:ndim])
        yield from (sample(x, None, *aligned, None), sample(x, [3] * ndim, *aligned, [1.0] * ndim))
        yield from (sample(x, None, *aligned, [2.0] * 4), sample(x, None, *aligned, [0.01] * ndim))


def both(name: str, ndim: int, *corners: bool, **scales: Sequence[float]) -> dict[str, Samples]:
    return {name: partial(by_size, ndim, *corners, **scales), f"{name}.vec": partial(by_size_or_scale, ndim, *corners)}


# Places wide of the image, as a scale of 0.6 has them, get what was in memory before from PyTorch.
WITHIN = (2.0, 1.1, -1.0)

SAMPLES: dict[str, Samples] = {
    **both("upsample_nearest1d", 1),
    **both("upsample_nearest2d", 2),
    **both("upsample_nearest3d", 3),
    **both("_upsample_nearest_exact1d", 1),
    **both("_upsample_nearest_exact2d", 2),
    **both("_upsample_nearest_exact3d", 3),
    **both("upsample_linear1d", 1, False, True),
    **both("upsample_bilinear2d", 2, False, True),
    **both("upsample_trilinear3d", 3, False, True),
    **both("upsample_bicubic2d", 2, False, True),
    **both("_upsample_bilinear2d_aa", 2, False, True, scales=WITHIN),
    **both("_upsample_bicubic2d_aa", 2, False, True, scales=WITHIN),
}
