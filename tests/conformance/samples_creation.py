"""Samples of factories, random numbers, copies and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    Sample,
    arrays,
    bfloat16,
    expanded,
    laid_out,
    make,
    pairs,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]

SIZES: tuple[list[int], ...] = ([], [3], [2, 3], [0, 2], [2, 1, 3], [-1])


def sizes(*more: object, dtypes: tuple[np.dtype, ...] = DTYPES) -> Iterator[Sample]:
    yield from (sample(size, *more) for size in SIZES)
    yield from (sample([2, 3], *more, dtype=dtype) for dtype in dtypes)
    yield sample([2], *more, device="cpu")


def strided_sizes() -> Iterator[Sample]:
    for size, stride in (([2, 3], [1, 2]), ([2, 3], [3, 1]), ([], []), ([0, 2], [2, 1]), ([2, 2], [5, 1])):
        yield sample(size, stride, dtype=FLOAT64)
    yield sample([2, 3], [0, 1])


def full() -> Iterator[Sample]:
    for value in (1, True, 2.5, 1j, -1, float("nan"), 300):
        yield sample([2, 3], value)
        yield from (sample([2], value, dtype=dtype) for dtype in DTYPES)
    yield from (sample(size, 7) for size in SIZES)


def ranges() -> Iterator[Sample]:
    for numbers in (
        (0, 5, 1),
        (0, 5, 2),
        (5, 0, -2),
        (0, 1, 0.3),
        (1.5, 4, 1),
        (0, 0, 1),
        (-3, 3, 1),
        (0, 5, 0),
        (0, 5, -1),
        (0, float("inf"), 1),
        (0, 1, 0.1),
        (2, 2.5, 1),
        (0, 10**10, 10**9),
    ):
        yield sample(*numbers)
    for dtype in DTYPES:
        yield from (sample(0, 5, 1, dtype=dtype), sample(0, 2.5, 0.5, dtype=dtype), sample(-3, 4, 2, dtype=dtype))


def ranges_to() -> Iterator[Sample]:
    yield from (sample(end) for end in (0, 5, 2.5, -1))
    yield from (sample(4, dtype=dtype) for dtype in DTYPES)


def ranges_from() -> Iterator[Sample]:
    yield from (sample(start, end) for start, end in ((0, 5), (1, 2.5), (3, 0), (-2, 2)))


def spaced() -> Iterator[Sample]:
    for start, end, steps in (
        (0, 1, 5),
        (0, 1, 2),
        (0, 5, 1),
        (0, 5, 0),
        (3, -2, 11),
        (0, 1, -1),
        (-1.5, 2.5, 7),
        (0, 10, 4),
    ):
        yield sample(start, end, steps)
        yield from (sample(start, end, steps, dtype=dtype) for dtype in DTYPES)
    yield sample(0, 1j, 3)


def like(*more: object) -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, *more)
    yield from (sample(make((2, 3), FLOAT32).T, *more, dtype=dtype) for dtype in DTYPES)
    yield sample(expanded(make((3, 1), FLOAT32), (3, 4)), *more)
    yield sample(make((2, 6, 4), FLOAT32)[:, ::2].transpose(2, 0, 1), *more)


def new(*more: object) -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((2,), dtype), [2, 3], *more), sample(make((2,), dtype), [2], *more, dtype=FLOAT32))
    yield sample(make((2,), FLOAT32), [-1], *more)


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


def copies() -> Iterator[Sample]:
    for into in DTYPES:
        for given in DTYPES:
            yield sample(make((2, 3), into), make((2, 3), given, low=0, high=3, seed=1))
    yield from (sample(first, second) for first, second in pairs(FLOAT32) if first.shape != (3,))
    yield sample(make((2, 3), FLOAT32), make((3,), INT64))
    yield sample(make((2, 3), FLOAT32), make((), INT64))


def fill_numbers() -> Iterator[Sample]:
    for array in arrays():
        yield from (sample(array, value) for value in (1, 2.5, True, 300, -1))
    yield sample(make((2,), INT8), 1000)


def fill_elements() -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, make((), FLOAT32, low=0))
    yield sample(make((2,), FLOAT32), make((1,), FLOAT32))


def resizes() -> Iterator[Sample]:
    for size in ([2, 3], [6], [2], [3, 1], [0], [4, 5], []):
        yield sample(make((2, 3), FLOAT32), size)


def casts(*more: object) -> Iterator[Sample]:
    for given in DTYPES:
        for dtype in DTYPES:
            yield sample(make((2, 3), given, low=0), dtype, *more)
    for layout in ("transposed", "stepped", "expanded", "channels_last", "0-dim", "empty"):
        yield from (sample(laid_out(layout, FLOAT32), dtype, *more) for dtype in (FLOAT32, FLOAT64))
    yield sample(special(FLOAT32), FLOAT16, *more)


def casts_by_keyword() -> Iterator[Sample]:
    for each in casts():
        yield Sample(each.args[:1], {"dtype": each.args[1]})
    yield sample(make((2, 3), FLOAT32), device="cpu")


def elements() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make(shape, dtype)) for shape in ((), (1,), (1, 1), (2,)))


OPTIONS = ("empty.memory_format", "zeros", "ones")

SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(OPTIONS, sizes),
    "empty_strided": strided_sizes,
    "full": full,
    "scalar_tensor": lambda: (sample(value, dtype=dtype) for value in (1, 2.5, True) for dtype in (None, *DTYPES)),
    "arange": ranges_to,
    "arange.start": ranges_from,
    "arange.start_step": ranges,
    "linspace": spaced,
    "eye": lambda: (sample(n, dtype=dtype) for n in (0, 3, -1) for dtype in (None, *DTYPES)),
    "eye.m": lambda: (sample(n, m) for n in (0, 3) for m in (0, 2, 4, -1)),
    **dict.fromkeys(("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"), like),
    "full_like": partial(like, 1),
    **dict.fromkeys(("new_empty", "new_zeros", "new_ones"), new),
    "new_full": partial(new, 1),
    "new_empty_strided": lambda: (sample(make((2,), dtype), [2, 3], [1, 2]) for dtype in DTYPES),
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
    "normal": partial(fills_with, (1.0, 2.0), (0.0, -1.0)),
    "random": fills,
    "random.to": partial(fills_with, (10,), (1,), (0,), (2**33,)),
    "random.from": partial(fills_with, (-3, 10), (2, None), (5, 5)),
    "bernoulli": probabilities,
    "bernoulli.p": partial(fills_with, (0.3,), (0.0,), (1.5,)),
    "bernoulli.Tensor": with_probabilities,
    "copy": copies,
    "fill.Scalar": fill_numbers,
    "fill.Tensor": fill_elements,
    "clone": lambda: (sample(array) for array in arrays()),
    "contiguous": lambda: (sample(array) for array in arrays()),
    "resize": resizes,
    "_to_copy": casts_by_keyword,
    "to.dtype_layout": casts_by_keyword,
    "to.dtype": casts,
    "to.device": lambda: (
        sample(make((2, 3), given), "cpu", dtype) for given in (FLOAT32, INT32) for dtype in (FLOAT32, INT64)
    ),
    "to.other": lambda: (sample(make((2, 3), given), make((1,), dtype)) for given in DTYPES for dtype in DTYPES),
    "type_as": lambda: (sample(make((2, 3), given), make((1,), dtype)) for given in DTYPES for dtype in DTYPES),
    "item": elements,
    "_local_scalar_dense": elements,
}
