"""Samples of normalisation: of batches, groups, instances, and by root mean squares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from samples_convolution import channels_last
from sampling import COMPLEX64, DTYPES, FLOAT16, FLOAT32, FLOAT64, Array, Sample, bfloat16, make, sample

Samples = Callable[[], Iterable[Sample]]


def vectors(count: int, dtype: np.dtype) -> tuple[Array, Array, Array, Array]:
    """Weight, bias, mean and variance."""
    drawn = [make((count,), dtype, seed=seed, low=1, high=5) for seed in range(4)]
    return drawn[0], drawn[1], drawn[2], drawn[3]


def images(channels: int) -> Iterator[Array]:
    for dtype in DTYPES:
        yield make((2, channels, 4), dtype)
    x = make((2, channels, 4, 3), FLOAT32)
    yield from (
        x,
        channels_last(x),
        np.swapaxes(x, 2, 3),
        channels_last(make((2, channels * 2, 4, 3), FLOAT32))[:, ::2],
    )
    yield from (
        channels_last(make((2, channels, 4, 3, 2), FLOAT64)),
        x[..., 0, 0],
        x[:1],
        x[:0],
        make((2, channels, 4, 0), FLOAT32),
        x[0, 0, 0],
    )


MIXED = ((FLOAT16, FLOAT32), (bfloat16, FLOAT32), (FLOAT32, FLOAT64), (FLOAT64, FLOAT32), (FLOAT16, bfloat16))


def batch(*, running: bool, modes: tuple[bool, ...], tail: tuple[object, ...] = ()) -> Iterator[Sample]:
    """Arguments of `native_batch_norm`; without running statistics where there is no parameter for them."""
    for array in images(3):
        w, b, mean, var = vectors(3, array.dtype)
        for mode in modes:
            if running:
                yield sample(array, w, b, mean, var, *([mode] if len(modes) > 1 else []), 0.1, 1e-5, *tail)
                yield sample(array, None, None, mean, var, *([mode] if len(modes) > 1 else []), 0.3, 1e-3, *tail)
            elif mode:
                yield sample(array, w, None, mode, 0.1, 1e-5)
                yield sample(array, None, b, mode, 0.1, 1e-5)
    for dtype, other in MIXED:
        w, b, mean, var = vectors(3, other)
        if running:
            yield sample(make((2, 3, 4), dtype), w, b, mean, var, *([True] if len(modes) > 1 else []), 0.1, 1e-5, *tail)
        else:
            yield sample(make((2, 3, 4), dtype), w, b, True, 0.1, 1e-5)


def batch_with_options() -> Iterator[Sample]:
    yield from batch(running=True, modes=(True, False), tail=(False,))
    x = make((2, 3, 4), FLOAT32)
    w, b, mean, var = vectors(3, FLOAT32)
    yield sample(x, w, b, None, None, True, 0.1, 1e-5, False)
    yield sample(x, w, b, None, None, False, 0.1, 1e-5, False)
    yield sample(x, w[:2], b, mean, var, True, 0.1, 1e-5, False)
    yield sample(x, w, b, mean[:2], var, True, 0.1, 1e-5, False)
    yield sample(x, w[:, None], b, mean, var, True, 0.1, 1e-5, False)


def native_batch() -> Iterator[Sample]:
    yield from batch(running=True, modes=(True, False))
    x, (w, b, _, _) = make((2, 3, 4), FLOAT32), vectors(3, FLOAT32)
    yield sample(x, w, b, None, None, True, 0.1, 1e-5)


def instance() -> Iterator[Sample]:
    yield from batch(running=True, modes=(True, False), tail=(False,))
    x, (w, b, mean, _) = make((2, 3, 4), FLOAT32), vectors(3, FLOAT32)
    yield sample(x, w, b, None, None, True, 0.1, 1e-5, False)
    yield sample(x, None, None, None, None, False, 0.1, 1e-5, False)
    yield sample(x, None, None, mean, None, False, 0.1, 1e-5, False)


def group() -> Iterator[Sample]:
    for array in images(4):
        w, b, _, _ = vectors(4, array.dtype)
        yield sample(array, 2)
        yield sample(array, 4, w, b)
    x, (w, b, _, _) = make((2, 4, 3), FLOAT32), vectors(4, FLOAT32)
    yield from (sample(x, groups) for groups in (1, 3, 0, -1))
    yield from (sample(x, 2, each, None) for each in (w[:3], w[None]))
    for dtype, other in MIXED:
        w, b, _, _ = vectors(4, other)
        yield sample(make((2, 4, 3), dtype), 2, w, b)


def native_group() -> Iterator[Sample]:
    for array in images(4):
        if array.ndim < 3:
            continue
        w, b, _, _ = vectors(4, array.dtype)
        inner = int(np.prod(array.shape[2:]))
        yield sample(array, w, b, array.shape[0], 4, inner, 2, 1e-5)
        yield sample(array, None, b, array.shape[0], 4, inner, 4, 1e-3)
    x, (w, b, _, _) = make((2, 4, 3), FLOAT32), vectors(4, FLOAT32)
    yield from (sample(x, w, b, *sizes, 1e-5) for sizes in ((2, 4, 3, 3), (3, 4, 3, 2), (2, 4, 3, 0)))
    yield sample(x, w[:3], b, 2, 4, 3, 2, 1e-5)


def root_mean_square(*tail: object) -> Iterator[Sample]:
    for dtype in (*DTYPES,):
        x, w = make((2, 3, 4), dtype), make((4,), dtype, seed=1)
        yield sample(x, [4], w, 1e-5)
        yield sample(x, [4], None, None)
    x = make((2, 3, 4), FLOAT32)
    for array in (x.T, x[:, ::2], channels_last(make((2, 3, 4, 5), FLOAT32)), x[:0]):
        yield sample(array, list(array.shape[-2:]), None, None)
    yield sample(x.astype(FLOAT16), [4], make((4,), FLOAT32), None)
    yield from (sample(x, sizes, None, None) for sizes in ([3], [], [1, 2, 3, 4]))
    yield sample(x, [4], make((3,), FLOAT32), None)
    yield from (
        sample(make((2, 4), dtype) * np.array(1e-4, dtype), [4], None, None) for dtype in (FLOAT32, FLOAT64, COMPLEX64)
    )


def renormed() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype), 2, 0, 5.0)
        yield sample(make((2, 3, 4), dtype), 1.5, -1, 4)
    x = make((2, 3, 4, 5), FLOAT32)
    for array in (x, x.T, channels_last(x), x[:, ::2], x[:0], np.zeros((2, 3), FLOAT32)):
        for p, dim, maxnorm in ((2, 0, 5.0), (1, 1, 3), (float("inf"), -1, 2.5), (0.5, 0, 100.0), (3, 1, 0)):
            yield sample(array, p, dim, maxnorm)
    refused = ((0, 0, 5), (-1.0, 0, 5), (2, 4, 5), (2, 0, -1.0), (2j, 0, 5), (2, 0, 5j))
    for p, dim, maxnorm in (*refused, (2, 0, float("inf"))):
        yield sample(x, p, dim, maxnorm)
    yield from (sample(x[0, 0, 0], 2, 0, 5), sample(x, 2, 0, float("nan")))


SAMPLES: dict[str, Samples] = {
    "renorm": renormed,
    "native_batch_norm": native_batch,
    "_native_batch_norm_legit_functional": lambda: batch(running=True, modes=(True, False)),
    "_native_batch_norm_legit.no_stats": lambda: batch(running=False, modes=(True,)),
    "_native_batch_norm_legit_no_training": lambda: batch(running=True, modes=(False,)),
    "batch_norm": batch_with_options,
    "instance_norm": instance,
    "group_norm": group,
    "native_group_norm": native_group,
    "rms_norm": root_mean_square,
    "_fused_rms_norm": root_mean_square,
}
