"""Samples of maxima put back, of windows at random places, and of images sampled at places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import seeds
from samples_convolution import channels_last
from sampling import DTYPES, FLOAT16, FLOAT32, FLOAT64, FLOATS, INT32, INT64, Array, Sample, make, sample

Samples = Callable[[], Iterable[Sample]]
SIZES = (3, 2, 4)


def _uniform(shape: tuple[int, ...], dtype: np.dtype, low: float = 0.0, high: float = 1.0, seed: int = 3) -> Array:
    return seeds.numpy_generator(seed).uniform(low, high, shape).astype(dtype)


def maxima_and_places(ndim: int) -> Iterator[Sample]:
    """Places that are different ones: of equal ones, any element may stay."""
    sizes, wanted = SIZES[:ndim], [5, 4, 6][:ndim]
    shape = (2, 3, *sizes)
    rest = ([2] * ndim, [0] * ndim) if ndim == 3 else ()
    at = seeds.numpy_generator(0).permuted(np.broadcast_to(np.arange(np.prod(wanted)), (6, np.prod(wanted))), axis=1)
    places = at[:, : int(np.prod(sizes))].reshape(shape)
    for dtype in DTYPES:
        yield sample(make(shape, dtype), places, wanted, *rest)
    x = make(shape, FLOAT32)
    yield from (sample(each, places, wanted, *rest) for each in (channels_last(x), np.swapaxes(x.T.copy().T, -1, -1)))
    yield from (sample(x[0], places[0], wanted, *rest), sample(x[:0], places[:0], wanted, *rest))
    yield from (sample(x, at, wanted, *rest) for at in (places - 40, places + 40, places.astype(INT32), places[:1]))
    yield from (sample(x, places, size, *rest) for size in ([2] * ndim, [3] * (ndim + 1), [3], [-1] * ndim))
    yield from (sample(x[0, 0], places[0, 0], wanted, *rest), sample(x[:, :0], places[:, :0], wanted, *rest))
    if ndim == 3:
        yield from (sample(x, places, wanted, step, [0] * 3) for step in ([1] * 3, [0] * 3, [1]))


def at_random_places(ndim: int) -> Iterator[Sample]:
    kernel, wanted = [2, 3, 2][:ndim], [3, 2, 2][:ndim]
    shape = (2, 3, *(6, 7, 5)[:ndim])
    for dtype in DTYPES:
        yield sample(make(shape, dtype), kernel, wanted, _uniform((2, 3, ndim), dtype))
    x, at = make(shape, FLOAT32), _uniform((2, 3, ndim), FLOAT32)
    odd = x.copy()
    odd[:, :, 2], odd[:, :, 4] = np.nan, -np.inf
    yield from (sample(each, kernel, wanted, at) for each in (channels_last(x), odd, x[:0], x[0], x[:1], x[:, :0]))
    yield from (sample(x, kernel, size, at) for size in ([1] * ndim, [4] * ndim, [6] * ndim, [2], [0] * ndim))
    yield from (sample(x, size, wanted, at) for size in ([1] * ndim, [4] * ndim, [7] * ndim, [2] * (ndim + 1)))
    for wrong in (at[:1], at[:, :2], at[..., :1], at[0], at.astype(FLOAT64)):
        yield sample(x, kernel, wanted, wrong)
    yield sample(x[0, 0], kernel, wanted, at)


def gradients_of_maxima() -> Iterator[Sample]:
    for dtype in FLOATS:
        x, grad = make((2, 3, 6, 4), dtype), make((2, 3, 3, 2), dtype)
        places = make((2, 3, 3, 2), INT64, low=0, high=24)
        yield sample(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)
        yield sample(grad[0], x[0], [2, 2], [2, 2], [0, 0], [1, 1], False, places[0])


def sampled(ndim: int) -> Iterator[Sample]:
    sizes, places = (5, 4, 3)[:ndim], (4, 3, 2)[:ndim]
    modes = (0, 1, 2) if ndim == 2 else (0, 1)
    for dtype in DTYPES:
        yield sample(make((2, 3, *sizes), dtype), _uniform((2, *places, ndim), dtype, -1.0, 1.0), 0, 0, False)
    x, at = make((2, 3, *sizes), FLOAT32), _uniform((2, *places, ndim), FLOAT32, -1.7, 1.7)
    for mode in modes:
        for padding in (0, 1, 2):
            yield from (sample(x, at, mode, padding, aligned) for aligned in (False, True))
            yield sample(x[:, :, :1], at.astype(FLOAT32), mode, padding, True)
    yield from (sample(each, at, 0, 0, False) for each in (channels_last(x), x[:, :0], x[:1], x[0], x[:, :, :0]))
    yield from (sample(x, each, 0, 0, False) for each in (at[..., :1], at[:1], at[:, :0], at.astype(FLOAT64)))
    yield sample(x[:0], at[:0], 0, 1, False)
    yield sample(x, np.moveaxis(np.moveaxis(at, -1, 1).copy(), 1, -1), 0, 0, True)
    yield sample(x.astype(FLOAT64), 40 * at.astype(FLOAT64), 0, 2, True)
    if ndim == 3:
        yield sample(x, at, 2, 0, False)


def either() -> Iterator[Sample]:
    yield from list(sampled(2))[-6:]
    yield from list(sampled(3))[-6:]


def maps(gradient: bool) -> Iterator[Sample]:
    for size in ([2, 3, 4, 5], [2, 1, 1, 3], [2, 3, 4, 5, 2], [1, 1, 2, 2]):
        ndim = len(size) - 2
        shape = (size[0], *size[2:], ndim) if gradient else (size[0], ndim, ndim + 1)
        for aligned in (False, True):
            yield from (sample(make(shape, dtype), size, aligned) for dtype in (FLOAT32, FLOAT64))
        if 1 not in size:
            yield sample(make(shape, FLOAT16, low=-1, high=1), size, False)
        yield sample(np.swapaxes(make(shape[::-1], FLOAT32), 0, -1).copy().T.copy().T.reshape(shape), size, True)
    theta = make((2, 2, 3), FLOAT32)
    if not gradient:
        yield from (sample(theta, size, False) for size in ([1, 1, 2, 2], [2, 3, 4], [2, 3, 0, 5], [2, 3, -4, 5]))
        yield from (sample(each, [2, 3, 4, 5], False) for each in (theta[:, :, :2], theta[:1]))


SAMPLES: dict[str, Samples] = {
    "max_unpool2d": partial(maxima_and_places, 2),
    "max_unpool3d": partial(maxima_and_places, 3),
    "fractional_max_pool2d": partial(at_random_places, 2),
    "fractional_max_pool3d": partial(at_random_places, 3),
    "max_pool2d_with_indices_backward": gradients_of_maxima,
    "grid_sampler": either,
    "grid_sampler_2d": partial(sampled, 2),
    "grid_sampler_3d": partial(sampled, 3),
    "affine_grid_generator": partial(maps, False),
    "affine_grid_generator_backward": partial(maps, True),
}
