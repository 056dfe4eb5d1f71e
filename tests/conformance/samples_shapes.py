"""Samples of views, joining and indexing."""

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
    LAYOUTS,
    UINT8,
    Array,
    Sample,
    bfloat16,
    laid_out,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]


def inputs() -> Iterator[Array]:
    for layout in LAYOUTS:
        yield laid_out(layout, FLOAT32)
    yield make((2, 3), bfloat16)
    yield make((2, 1, 3, 1), INT64)
    yield make((0, 3), FLOAT32)


def alone() -> Iterator[Sample]:
    yield from (sample(array) for array in inputs())
    yield sample(make((3,), FLOAT32))
    yield sample(make((2, 3), FLOAT32).T)


def with_args(*choices: tuple[object, ...]) -> Iterator[Sample]:
    """Every input with every choice of further arguments, fitting or not."""
    yield from (sample(array, *choice) for array in inputs() for choice in choices)


def shapes() -> Iterator[Sample]:
    for array in inputs():
        count = array.size
        for shape in (
            [-1],
            [count],
            [1, -1],
            [count, 1],
            [2, -1],
            [-1, 2, 1],
            list(array.shape),
            [3, 4, 2],
            [-1, -1],
            [-2],
        ):
            yield sample(array, shape)
    yield sample(make((2, 3, 4), FLOAT32)[:, :, ::2], [6, 2])
    yield sample(make((2, 3, 4), FLOAT32)[:, ::2], [2, 2, 2, 2])
    yield sample(make((), FLOAT32), [])
    yield sample(make((2, 0), FLOAT32), [0, 3])
    yield sample(make((2, 0), FLOAT32), [-1, 0])


def expansions() -> Iterator[Sample]:
    base = make((3, 1), FLOAT32)
    for shape in ([3, 4], [2, 3, 4], [-1, 4], [2, -1, -1], [3], [4, 4], [-1, 3, 4], [3, 0], [1, 3, 1]):
        yield sample(base, shape)
    yield from (sample(make((), FLOAT32), shape) for shape in ([], [2], [2, 3], [1]))
    yield from (sample(array, [2, *array.shape]) for array in inputs())


def diagonals() -> Iterator[Sample]:
    for array in (make((3, 4), FLOAT32), make((2, 3, 4), INT64).transpose(2, 0, 1), make((3, 3), FLOAT32)[:, ::2]):
        yield from (sample(array, offset) for offset in (0, 1, -1, 5, -5))
    yield sample(make((2, 3, 4), FLOAT32), 1, -1, 0)
    yield sample(make((2, 3), FLOAT32), 0, 1, 1)
    yield sample(make((2,), FLOAT32))


def strided() -> Iterator[Sample]:
    base = make((12,), FLOAT32)
    for size, stride, *offset in (
        ([2, 3], [3, 1]),
        ([3, 3], [1, 1]),
        ([2, 2], [4, 2], 3),
        ([], []),
        ([0, 4], [1, 1]),
        ([2], [-1]),
        ([5, 5], [4, 1]),
        ([2, 3], [1]),
        ([2], [1], -1),
        ([4], [0], 7),
    ):
        yield sample(base, size, stride, *offset)


def joined() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample([make((2, 3), dtype), make((2, 3), dtype, seed=1)], 0)
        yield sample([make((2,), dtype), make((2,), FLOAT32)], 0)
    for layout in LAYOUTS:
        yield from (sample([laid_out(layout, FLOAT32)] * 2, dim) for dim in (0, -1))
    yield sample([make((2, 3), FLOAT32), make((0,), FLOAT32), make((2, 1), INT64)], 1)
    yield sample([make((0,), FLOAT32), make((0,), FLOAT32)])
    yield from (sample([make((2, 3), FLOAT32), make(shape, FLOAT32)], 0) for shape in ((2, 4), (2, 3, 1), ()))
    yield from (sample([]), sample([make((2, 3), FLOAT32)], 2), sample([make((2, 3), FLOAT32)], 0))


def stacked() -> Iterator[Sample]:
    yield from joined()
    yield sample([make((), FLOAT32), make((), INT64)], -1)
    yield sample([make((2, 3), FLOAT32)] * 3, -2)


def index_choices() -> Iterator[tuple[Array, list[Array | None]]]:
    def at(*places: int) -> Array:
        return np.array(places)

    cube = make((3, 4, 5), FLOAT32)
    for array in (cube, cube.T.copy().T, cube.transpose(1, 0, 2).copy().transpose(1, 0, 2)):
        yield array, [at(0, 2, -1)]
        yield array, [None, at(0, 2)]
        yield array, [None, None, np.array([[0, 1], [2, 3]])]
        yield array, [at(0, 1), at(2, 3)]
        yield array, [at(0, 1), None, at(2, 3)]
        yield array, [None, at(0, 1, 2), np.array([[0], [1]])]
    yield cube, [make((3,), BOOL)]
    yield cube, [make((3, 4), BOOL)]
    yield cube, [None, make((4, 5), BOOL)]
    yield cube, [None, np.array([True, False, True, True])]
    yield cube, [at(0, 1).astype(np.int32)]
    yield cube, [np.array(1)]
    yield cube, [make((3,), UINT8, low=0, high=2)]
    yield cube, [at()]
    yield cube, [at(3)]
    yield cube, [make((4,), BOOL)]
    yield cube, [make((2,), FLOAT32)]
    yield cube, [at(0, 1), at(0, 1, 2)]
    yield cube, [at(0)] * 4
    for dtype in DTYPES:
        yield make((3, 2), dtype), [at(2, 0)]


def index_writes() -> Iterator[Sample]:
    for array, indices in index_choices():
        if array.base is not None and array.ndim == 3:
            array = array.copy(order="K")
        for values in (np.asarray(7, array.dtype), make((1,), array.dtype)):
            yield sample(array, indices, values)
    for dtype in (FLOAT32, INT64, bfloat16, BOOL):
        yield sample(make((3, 2), dtype), [np.array([0, 0, 1])], make((3, 2), dtype, seed=1), True)
    yield sample(make((3, 2), FLOAT32), [np.array([0, 1])], make((3, 2), FLOAT32))
    yield sample(make((3, 2), FLOAT32), [np.array([0, 1])], make((2,), FLOAT64))


def selects() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype), 0, np.array([2, 0, 2]))
    for layout in ("transposed", "stepped", "channels_last", "expanded"):
        yield from (sample(laid_out(layout, FLOAT32), dim, np.array([0, 1], np.int32)) for dim in (0, -1))
    array = make((3, 4), FLOAT32)
    for index in (np.array(1), np.array([3]), np.array([[0]]), make((2,), FLOAT32), np.array([], np.int64)):
        yield sample(array, 0, index)
    yield from (sample(array, 2, np.array([0])), sample(make((), FLOAT32), 0, np.array([0])))


def gathers() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype), 0, np.array([[2, 0], [1, 1]]))
    for layout in ("transposed", "stepped", "channels_last", "expanded"):
        array = laid_out(layout, FLOAT32)
        yield from (sample(array, dim, np.zeros(array.shape, np.int64)) for dim in (0, -1))
    array = make((3, 4), FLOAT32)
    for index in (
        np.array([[5]]),
        np.zeros((4, 1), np.int64),
        np.zeros((1, 5), np.int64),
        np.array([0]),
        make((2, 2), FLOAT32),
    ):
        yield sample(array, 0, index)
        yield sample(array, 1, index)
    yield sample(make((), FLOAT32), 0, np.array(0))


def triangles() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype))
    for array in (
        make((3, 4), FLOAT32).T,
        make((2, 3, 4), FLOAT32),
        make((2, 6, 4), FLOAT32)[:, ::2],
        make((2, 0), FLOAT32),
    ):
        yield from (sample(array, diagonal) for diagonal in (0, 1, -2))
    yield sample(make((3,), FLOAT32))


def sized() -> Iterator[Sample]:
    for sizes in ([2, 3, 1], [6], [0, 6], [5], [7, -1]):
        yield sample(make((6, 2), FLOAT32), sizes)
    yield sample(make((2, 6), FLOAT32), [4, 2], 1)
    yield sample(make((), FLOAT32), [1])


DIMS: tuple[tuple[int, int], ...] = ((0, 1), (-1, 0), (0, 0), (0, 2), (1, 5))

SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("alias", "detach", "t", "numpy_T", "squeeze", "flatten.using_ints", "nonzero", "where"), alone),
    "view": shapes,
    "_unsafe_view": shapes,
    "reshape": shapes,
    "expand": expansions,
    "expand_as": lambda: (sample(make((3, 1), FLOAT32), make(shape, INT32)) for shape in ((3, 4), (2, 3, 1), (4, 4))),
    "transpose.int": partial(with_args, *DIMS),
    "permute": partial(with_args, ([0, 1, 2],), ([2, 0, 1],), ([-1, 0, 1],), ([0, 0, 1],), ([1, 0],), ([],)),
    "select.int": partial(with_args, (0, 0), (1, -1), (-1, 1), (0, 9), (4, 0)),
    "slice.Tensor": partial(
        with_args,
        (),
        (0, 1),
        (0, None, 1),
        (-1, -2, None),
        (1, 0, 9, 2),
        (1, 5, 2),
        (0, 0, 2, 0),
        (0, 0, 2, -1),
        (5, 0, 1),
    ),
    "unsqueeze": partial(with_args, (0,), (1,), (-1,), (2,), (-5,), (9,)),
    "squeeze.dim": partial(with_args, (0,), (1,), (-1,), (5,)),
    "squeeze.dims": partial(with_args, ([0],), ([1, -1],), ([0, 0],), ([],)),
    "diagonal": diagonals,
    "split.Tensor": partial(with_args, (1,), (2, -1), (5, 0), (0,), (-1,)),
    "split.sizes": sized,
    "split_with_sizes": sized,
    "chunk": partial(with_args, (2,), (3, -1), (1, 0), (0,), (9, 0)),
    "unbind.int": partial(with_args, (), (-1,), (5,)),
    "narrow": partial(with_args, (0, 0, 1), (-1, 1, 1), (0, -1, 1), (0, 0, 9), (0, 9, 0), (0, 0, -1)),
    "movedim.int": partial(with_args, (0, -1), (1, 0), (0, 7)),
    "movedim.intlist": partial(with_args, ([0, 1], [-1, 0]), ([0], [0]), ([0, 0], [0, 1]), ([0, 1], [0])),
    "as_strided": strided,
    "cat": joined,
    "stack": stacked,
    "index.Tensor": lambda: (sample(array, indices) for array, indices in index_choices()),
    "index_put": index_writes,
    "index_select": selects,
    "gather": gathers,
    "tril": triangles,
    "triu": triangles,
}
