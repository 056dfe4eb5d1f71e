"""Samples of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from samples_creation import likes
from sampling import (
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT8,
    Sample,
    bfloat16,
    laid_out,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]


def random_sizes(*front: object, dtypes: tuple[np.dtype, ...] = DTYPES) -> Iterator[Sample]:
    for size in ([], [3], [2, 3], [5, 7], [16], [17], [40], [0], [-1]):
        yield sample(*front, size)
    yield from (sample(*front, [4, 5], dtype=dtype) for dtype in dtypes)


def random_integers(low: bool) -> Iterator[Sample]:
    yield from random_sizes(*((-3,) if low else ()), 10)
    for high in (1, 2**20, 2**28 - 1, 2**28, 2**32, 2**40, 0):
        yield sample(*((0,) if low else ()), high, [20])
    yield sample(*((0,) if low else ()), 300, [4], dtype=UINT8)


def fills() -> Iterator[Sample]:
    """What random numbers are written into."""
    for dtype in DTYPES:
        yield from (sample(make(shape, dtype)) for shape in ((), (3,), (4, 5), (33,)))
    for layout in ("transposed", "permuted", "stepped", "channels_last", "empty"):
        yield sample(laid_out(layout, FLOAT32))
    yield sample(make((5, 7), FLOAT64).T)


def fills_with(*choices: tuple[object, ...]) -> Iterator[Sample]:
    yield from fills()
    for choice in choices:
        yield from (sample(make((20,), dtype), *choice) for dtype in (FLOAT32, FLOAT64, bfloat16, FLOAT16, INT64, BOOL))


def probabilities() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((20,), dtype, low=0, high=1)), sample(make((3, 5), dtype, low=0, high=1).T))
    yield sample(make((3,), FLOAT32, low=2, high=4))


def with_probabilities() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((20,), dtype), make((20,), kind, low=0, high=1)) for kind in (FLOAT32, FLOAT64))
    yield sample(make((4, 5), FLOAT32), make((5,), FLOAT32, low=0, high=1))


def with_generator(samples: Iterable[Sample]) -> Iterator[Sample]:
    yield from (Sample(each.args, {"generator": None, **each.kwargs}) for each in samples)


def normals_around() -> Iterator[Sample]:
    for mean in (make((3, 4), FLOAT32), make((4, 3), FLOAT64).T, make((20,), FLOAT32), make((2,), INT64)):
        yield from (sample(mean, np.abs(make(mean.shape, FLOAT32, seed=1))), sample(mean, make((1,), FLOAT32, low=1)))
    yield sample(make((3, 1), bfloat16), np.abs(make((4,), FLOAT32)))
    yield sample(make((3,), FLOAT32), np.full((3,), -1, np.float32))


def normals_around_arrays() -> Iterator[Sample]:
    for mean in (make((3, 4), FLOAT32), make((4, 3), FLOAT64).T, make((20,), FLOAT16), make((2,), INT64)):
        yield from (sample(mean), sample(mean, 2.0), sample(mean, -1.0))


def normals_of_spread() -> Iterator[Sample]:
    for std in (make((3, 4), FLOAT32, low=0), make((4, 3), FLOAT64, low=0).T, make((20,), FLOAT16, low=0)):
        yield sample(1.5, std)
    yield from (sample(0.0, make((2,), INT64)), sample(0.0, np.full((3,), -1, np.float32)))


def rates() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((20,), dtype, low=0)), sample(make((3, 5), dtype, low=0).T))
    yield sample(np.array([-1.0], np.float32))


def trials() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((20,), dtype, low=0), make((20,), dtype, low=0, high=1))
    yield sample(make((3, 1), FLOAT32, low=0), make((4,), FLOAT32, low=0, high=1))
    yield sample(make((3,), FLOAT32, low=0), make((3,), FLOAT64, low=0, high=1))


def chances() -> Iterator[Sample]:
    for dtype in DTYPES:
        for replacement in (False, True):
            yield sample(make((6,), dtype, low=1), 3, replacement)
    for array in (make((2, 6), FLOAT32, low=0), make((6, 2), FLOAT32, low=0).T):
        yield from (sample(array, 6), sample(array, 9, True), sample(array, 1))
        yield from (sample(array, 7), sample(array, 0))
    yield from (
        sample(np.zeros((3,), np.float32), 1),
        sample(np.array([-1.0, 2.0]), 1),
        sample(make((2, 2, 2), FLOAT32), 1),
    )
    yield sample(np.array([0.0, 1.0, np.inf]), 1, True)


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("rand_like", "randn_like"), likes),
    "rand_like.generator": lambda: with_generator(likes()),
    "randn_like.generator": lambda: with_generator(likes()),
    "randint_like": partial(likes, 10),
    "randint_like.generator": lambda: with_generator(likes(10)),
    "randint_like.Tensor": partial(likes, np.array(10)),
    "randint_like.Tensor_generator": lambda: with_generator(likes(np.array(10))),
    "randint_like.low_dtype": partial(likes, 2, 10),
    "randint_like.low_generator_dtype": lambda: with_generator(likes(2, 10)),
    "normal.Tensor_Tensor": normals_around,
    "normal.Tensor_float": normals_around_arrays,
    "normal.float_Tensor": normals_of_spread,
    "normal.float_float": partial(random_sizes, 1.0, 2.0),
    "exponential": partial(fills_with, (2.0,), (0.0,), (-1.0,)),
    "geometric": partial(fills_with, (0.25,), (1.0,), (0.0,)),
    "cauchy": partial(fills_with, (1.0, 2.0), (0.0, 0.0)),
    "log_normal": partial(fills_with, (1.0, 0.5), (0.0, 0.0)),
    "poisson": rates,
    "binomial": trials,
    "multinomial": chances,
    "rand": random_sizes,
    "randn": random_sizes,
    "rand.generator": lambda: (Sample(each.args, {"generator": None, **each.kwargs}) for each in random_sizes()),
    "randn.generator": lambda: (Sample(each.args, {"generator": None, **each.kwargs}) for each in random_sizes()),
    "randint": partial(random_integers, False),
    "randint.low": partial(random_integers, True),
    "randint.generator": lambda: (
        Sample(each.args, {"generator": None, **each.kwargs}) for each in random_integers(False)
    ),
    "randint.low_generator": lambda: (
        Sample(each.args, {"generator": None, **each.kwargs}) for each in random_integers(True)
    ),
    "randperm": lambda: (sample(n) for n in (0, 1, 2, 10, 100, -1)),
    "randperm.generator": lambda: (sample(n, generator=None) for n in (0, 5)),
    "uniform": partial(fills_with, (-2.0, 3.0), (1.0, 0.0)),
    "normal_functional": partial(fills_with, (1.0, 2.0), (0.0, -1.0)),
    "random": fills,
    "random.to": partial(fills_with, (10,), (1,), (0,), (2**33,)),
    "random.from": partial(fills_with, (-3, 10), (2, None), (5, 5)),
    "bernoulli": probabilities,
    "bernoulli.p": partial(fills_with, (0.3,), (0.0,), (1.5,)),
    "bernoulli.Tensor": with_probabilities,
}
