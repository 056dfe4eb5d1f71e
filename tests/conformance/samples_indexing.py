"""Samples of what reads and writes at positions: `scatter`, `index_add`, `take`, `put` and their kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    BOOL,
    DTYPES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT8,
    Array,
    Sample,
    arrays,
    bfloat16,
    laid_out,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]

MATRIX = make((3, 4), FLOAT32)
CUBES = ("contiguous", "transposed", "permuted", "stepped", "channels_last", "empty")


def at(*places: object) -> Array:
    return np.array(places, np.int64)


def indexed(dim: int, dtypes: tuple[np.dtype, ...] = DTYPES) -> Iterator[tuple[Array, int, Array, Array]]:
    """An array, a dimension, an index of its rank, and a source, for `scatter`."""
    for dtype in dtypes:
        yield make((3, 4), dtype), dim, at([2, 0, 1], [0, 0, 2]), make((2, 3), dtype, seed=1)
    for layout in CUBES:
        array = laid_out(layout, FLOAT32)
        size = max(array.shape[dim], 1)
        yield array, dim, make(array.shape, INT64, low=0, high=size), make(array.shape, FLOAT32, seed=1)
    yield make((5,), FLOAT32), 0, at(0, 0, 0, 4), make((4,), FLOAT32, seed=1)
    yield make((5,), FLOAT32), 0, at(1, 1).astype(np.int32), make((3,), FLOAT32, seed=1)
    yield make((), FLOAT32), 0, at(0), make((1,), FLOAT32, seed=1)
    yield make((3,), FLOAT32), 0, np.array(2), make((), FLOAT32, seed=1)
    yield make((3,), FLOAT32), 0, at(), make((0,), FLOAT32)


def misfits() -> Iterator[tuple[Array, int, Array, Array]]:
    """As `indexed`, where something does not fit."""
    source = make((3, 4), FLOAT32, seed=1)
    yield MATRIX, 0, at([3]), source
    yield MATRIX, 0, at([-1]), source
    yield MATRIX, 2, at([0]), source
    yield MATRIX, 0, at(0), source
    yield MATRIX, 0, at([0]), make((4,), FLOAT32)
    yield MATRIX, 0, at([0, 0, 0, 0, 0]), make((3, 5), FLOAT32)
    yield MATRIX, 0, at([0, 0, 0]), make((1, 2), FLOAT32)
    yield MATRIX, 0, make((1, 2), FLOAT32), source
    yield MATRIX, 0, at([0]), make((3, 4), FLOAT64)
    yield MATRIX, 0, make((0, 4), INT64), source
    yield MATRIX, 0, make((0,), FLOAT32), source


def scatters(*more: object, value: object = None, **options: object) -> Iterator[Sample]:
    for dim in (0, -1):
        for array, axis, index, source in (*indexed(dim), *misfits()):
            yield sample(array, axis, index, source if value is None else value, *more, **options)


def scatters_reduced(*reductions: str, value: object = None) -> Iterator[Sample]:
    for reduce in (*reductions, "max"):
        yield from scatters(value=value, reduce=reduce)


def scatters_values() -> Iterator[Sample]:
    for value in (2, 1.5, True, 300, 1j):
        yield from scatters(value=value)


def scatter_reduces() -> Iterator[Sample]:
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield from scatters(reduce)
        yield from scatters(reduce, include_self=False)
    yield from scatters("median")


def rows(dtypes: tuple[np.dtype, ...] = DTYPES) -> Iterator[tuple[Array, int, Array, Array]]:
    """An array, a dimension, a vector of positions, and a source of as many slices, for `index_add`."""
    for dtype in dtypes:
        yield make((3, 4), dtype), 0, at(2, 0), make((2, 4), dtype, seed=1)
    for layout in CUBES:
        array = laid_out(layout, FLOAT32)
        for dim in (0, 1, -1):
            shape = list(array.shape)
            shape[dim] = 3 if shape[dim] else 0
            index = at(0, 1, 0) if shape[dim] else at()
            yield array, dim, index, make(tuple(shape), FLOAT32, seed=1)
    yield make((3, 4), FLOAT32), 1, at(1, 1).astype(np.int32), make((3, 2), FLOAT32, seed=1)
    yield make((5,), FLOAT32), 0, at(0, 0, 4), make((3,), FLOAT32, seed=1)
    yield make((5,), INT64), 0, np.array(3), make((1,), INT64, seed=1)
    yield make((5,), INT64), 0, np.array(3), make((), INT64, seed=1)
    yield make((), FLOAT32), 0, at(0), make((), FLOAT32, seed=1)
    yield make((), FLOAT32), 0, at(0), make((1,), FLOAT32, seed=1)
    # What does not fit.
    source = make((2, 4), FLOAT32, seed=1)
    yield MATRIX, 0, at(0, 3), source
    yield MATRIX, 0, at(-1, 0), source
    yield MATRIX, 0, at(0), source
    yield MATRIX, 0, at([0, 1]), source
    yield MATRIX, 0, make((2,), FLOAT32), source
    yield MATRIX, 0, at(0, 1), make((2, 4), FLOAT64)
    yield MATRIX, 0, at(0, 1), make((2, 3), FLOAT32)
    yield MATRIX, 0, at(0, 1), make((2,), FLOAT32)
    yield MATRIX, 0, at(0, 1), make((), FLOAT32)
    yield MATRIX, 2, at(0, 1), source


def slices(*more: object, **options: object) -> Iterator[Sample]:
    yield from (sample(*each, *more, **options) for each in rows())


def index_adds() -> Iterator[Sample]:
    yield from slices()
    for alpha in (2, 1.5, True, 0, 1j):
        yield from slices(alpha=alpha)


def index_reduces() -> Iterator[Sample]:
    for reduce in ("prod", "mean", "amax", "amin", "sum"):
        yield from slices(reduce)
        yield from slices(reduce, include_self=False)


def index_fills(*values: object) -> Iterator[Sample]:
    for value in values:
        yield from (sample(array, dim, index, value) for array, dim, index, _ in rows())
    yield sample(MATRIX, 0, at(-3, 0), values[0])
    yield sample(MATRIX, 0, at(-4), values[0])


def takes() -> Iterator[Sample]:
    for array in arrays():
        yield from (sample(array, index) for index in (at(0, -1, 0), at([1], [0]), np.array(0), at(), at(0, 24)))
    yield sample(MATRIX, make((2, 3, 4), INT64, low=0, high=12).transpose(2, 0, 1))
    yield from (sample(MATRIX, at(0, 1).astype(np.int32)), sample(MATRIX, at(-13)))


def puts() -> Iterator[Sample]:
    for accumulate in (False, True):
        for array in arrays():
            for index in (at(0, -1, 1), at([1], [0]), np.array(0), at(), at(0, 240)):
                yield sample(array, index, make(index.shape, array.dtype, seed=1), accumulate)
    yield sample(MATRIX, at(1, 1, 1), make((3,), FLOAT32), True)
    yield from (sample(MATRIX, at(0, 1), make((3,), FLOAT32)), sample(MATRIX, at(0), make((1,), FLOAT64)))
    yield sample(MATRIX, at(0).astype(np.int32), make((1,), FLOAT32))


def takes_along() -> Iterator[Sample]:
    for dim in (0, -1):
        for array, axis, index, _ in (*indexed(dim), *misfits()):
            yield from (sample(array, index, axis), sample(array, index))
    yield sample(MATRIX, at([1, 0, 0, 1]), 0)
    yield sample(make((3, 1), FLOAT32), at([0, 0, 0, 0]), 1)
    yield sample(make((2, 3, 1), FLOAT32), make((1, 2, 4), INT64, low=0, high=3), 1)
    yield sample(make((2, 3), FLOAT32), make((4, 2), INT64, low=0, high=3), 1)


def masked_scatters() -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, make(array.shape, BOOL, seed=1), make((60,), array.dtype))
    for dtype in (FLOAT32, INT32, bfloat16):
        yield sample(make((3, 4), dtype), make((4,), BOOL), make((3, 4), dtype).T)
    yield sample(make((4,), FLOAT32), make((3, 4), BOOL), make((12,), FLOAT32))
    yield sample(make((2, 2), FLOAT32), np.ones((2, 2), bool), make((3,), FLOAT32))
    yield sample(make((2, 2), FLOAT32), np.ones((2, 2), bool), make((4,), FLOAT64))
    yield sample(make((2, 2), FLOAT32), np.ones((2, 2), np.uint8), make((4,), FLOAT32))
    yield sample(make((2, 2), FLOAT32), make((3,), BOOL), make((4,), FLOAT32))


def selections() -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, make(array.shape, BOOL, seed=1))
    yield from (sample(MATRIX, make((4,), BOOL)), sample(make((4,), INT64), make((3, 4), BOOL)))
    yield from (sample(MATRIX, make((3, 4), UINT8, low=0, high=2)), sample(MATRIX, make((3,), BOOL)))


def rows_and_masks() -> Iterator[Sample]:
    for dtype in (FLOAT32, INT64):
        yield from (sample(make((3, 4), dtype), [index]) for index in (at(2, 0), at(-1), np.array([True, False, True])))
    yield sample(MATRIX, [None, at(3, 1)])
    yield sample(MATRIX, [at(0, 1), at([2], [3])])


SAMPLES: dict[str, Samples] = {
    "scatter.src": scatters,
    "scatter.value": scatters_values,
    "scatter.reduce": partial(scatters_reduced, "add", "multiply"),
    "scatter.value_reduce": partial(scatters_reduced, "add", "multiply", value=2),
    "scatter_add": scatters,
    "scatter_reduce.two": scatter_reduces,
    "index_add": index_adds,
    "index_reduce": index_reduces,
    "index_copy": slices,
    "index_fill.int_Scalar": partial(index_fills, 2, 1.5, True, 300, 1j),
    "index_fill.int_Tensor": partial(index_fills, np.array(2), np.array(1.5, np.float32), np.array([1])),
    "take": takes,
    "put": puts,
    "take_along_dim": takes_along,
    "masked_scatter": masked_scatters,
    "masked_select": selections,
    "argwhere": lambda: (sample(array) for array in arrays()),
    "nonzero_numpy": lambda: (sample(array) for array in arrays()),
    "_unsafe_index.Tensor": rows_and_masks,
}
