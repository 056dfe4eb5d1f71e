"""Samples of copies that rearrange, repeat, join or pad."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from samples_shapes import alone, inputs, joined, with_args
from sampling import (
    BOOL,
    DTYPES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    Sample,
    bfloat16,
    laid_out,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]

SHAPES = ((), (3,), (2, 3), (2, 3, 4), (2, 0), (2, 3, 1, 2))


def repeats() -> Iterator[Sample]:
    for array in inputs():
        yield from (sample(array, [2] * array.ndim), sample(array, [3, *[1] * array.ndim]))
        yield from (sample(array, [2, 3]), sample(array, [0] * 4), sample(array, []), sample(array, [-1, 2, 2, 2]))
    yield from (sample(make((2, 3), dtype), [2, 2]) for dtype in DTYPES)


def repeated_by_tensors() -> Iterator[Sample]:
    for array in (make((3, 2), FLOAT32), make((2, 3), FLOAT32).T, make((3,), INT64), make((), FLOAT32)):
        for counts in (
            np.array([1, 0, 2]),
            np.array([2]),
            np.array(2),
            np.array([1, 2]),
            np.array([1, 0, 2], np.int32),
        ):
            yield from (sample(array, counts, 0), sample(array, counts, -1), sample(array, counts))
    array = make((3, 2), FLOAT32)
    yield sample(array, np.array([1, 0, 2]), 0, output_size=3)
    yield sample(array, np.array([1, 0, 2]), 5)
    yield sample(array, np.array([1, -1, 2]), 0)
    yield sample(array, np.array([1.0, 0.0, 2.0]), 0)
    yield sample(array, np.array([[1, 0, 2]]), 0)


def counts() -> Iterator[Sample]:
    for each in ([1, 0, 2], [], [0, 0], [3]):
        yield from (sample(np.array(each, np.int64)), sample(np.array(each, np.int32)))
    yield sample(np.array([1, 2]), output_size=3)
    yield from (sample(np.array(2)), sample(np.array([1.0])), sample(np.array([-1])), sample(np.array([[1]])))


def several() -> Iterator[Sample]:
    yield from (Sample(one.args[:1]) for one in joined())
    for some in (((2,), (2,)), ((2, 1), (2, 3)), ((), ()), ((2, 3, 1), (2, 3, 4)), ((3,), (1, 3)), ((2,), (2, 2))):
        yield sample([make(shape, FLOAT32) for shape in some])


def blocks() -> Iterator[Sample]:
    yield sample([make(shape, FLOAT32) for shape in ((2, 3), (), (2,), (1, 1), (0, 2))])
    yield sample([make((2, 3), INT32).T, make((2,), bfloat16)])
    yield sample([make((2, 3, 1), FLOAT32)])
    yield from (sample([make((2, 2), dtype), make((1, 2), dtype)]) for dtype in DTYPES)


def grids() -> Iterator[Sample]:
    yield sample([make((2,), FLOAT32), make((3,), FLOAT32), make((), FLOAT32)])
    yield sample([make((2,), FLOAT32)])
    yield sample([make((2,), FLOAT32), make((0,), FLOAT32)])
    yield sample([make((6,), INT64)[::2], make((3,), INT64)])
    yield sample([make((2,), FLOAT32), make((3,), INT64)])
    yield sample([make((2, 1), FLOAT32), make((3,), FLOAT32)])
    yield sample([make((2,), FLOAT32), make((3, 1), FLOAT32)])


def indexed_grids() -> Iterator[Sample]:
    yield from (Sample(one.args, {"indexing": indexing}) for one in grids() for indexing in ("ij", "xy", "xx"))


def chosen() -> Iterator[Sample]:
    for array in (make((4,), FLOAT32), make((0,), INT64), make((1,), FLOAT32), make((2, 2), FLOAT32)):
        yield sample(array)
        yield from (sample(array, r, again) for r in (0, 1, 2, 3, -1) for again in (False, True))


def diagonals_from() -> Iterator[Sample]:
    for array in inputs():
        yield from (sample(array), sample(array, 1), sample(array, -2))
    yield from (sample(make((3,), dtype), 1) for dtype in DTYPES)
    yield from (sample(make((3, 4), FLOAT32).T, 1), sample(make((3, 4), FLOAT32), 5), sample(make((4, 2), INT64), -2))
    yield sample(make((6,), FLOAT32)[::2])


def embedded() -> Iterator[Sample]:
    yield from diagonals_from()
    array = make((2, 3), FLOAT32)
    yield from (sample(array, 0, *dims) for dims in ((0, 1), (0, 2), (2, 0), (-1, 0), (1, 1), (0, -3), (0, 5)))
    yield sample(array, -1, 0, 2)


def triangles_of() -> Iterator[Sample]:
    for rows, columns in ((3, 4), (4, 3), (1, 1), (0, 3), (3, 0), (-1, 2), (5, 2)):
        yield from (sample(rows, columns, offset) for offset in (0, 1, -1, 3, -3, 9, -9))
    yield from (sample(3, 3, dtype=INT32), sample(3, 3, dtype=INT64), sample(2, 2))


def channels() -> Iterator[Sample]:
    for array in (
        make((2, 6, 3), FLOAT32),
        make((1, 4, 2, 2), INT64),
        make((1, 2, 2, 4), FLOAT32).transpose(0, 3, 1, 2),
        make((2, 3, 4, 2), FLOAT32).transpose(0, 2, 3, 1),
        make((0, 4, 2), FLOAT32),
        make((4, 2), FLOAT32),
    ):
        yield from (sample(array, groups) for groups in (1, 2, 3, 0))


def pixels() -> Iterator[Sample]:
    for array in (
        make((8, 2, 3), FLOAT32),
        make((2, 4, 4, 4), INT64),
        make((1, 2, 2, 8), FLOAT32).transpose(0, 3, 1, 2),
        make((2, 2, 4, 2, 2), bfloat16),
        make((0, 4, 2, 2), FLOAT32),
        make((4, 2), FLOAT32),
    ):
        yield from (sample(array, factor) for factor in (1, 2, 3, 0))
    yield from (sample(make((4, 2, 2), dtype), 2) for dtype in DTYPES)


def slices_over() -> Iterator[Sample]:
    for array in inputs():
        for dim, start, end, step in ((0, 0, 1, 1), (-1, 1, None, 1), (1, None, 9, 2)):
            if array.ndim > max(dim, -dim - 1):
                part = np.moveaxis(np.moveaxis(array, dim, 0)[start:end:step], 0, dim)
                yield sample(array, part + np.ones((), array.dtype), dim, start, end, step)
        yield sample(array, make((2, 2), FLOAT32), 0)
    yield sample(make((3, 4), FLOAT32), make((1, 4), INT64), 0, 1, 2)
    yield sample(make((3, 4), INT8), make((1, 4), FLOAT64), 0, 1, 2)


def places_over() -> Iterator[Sample]:
    for array in inputs():
        for dim, index in ((0, 0), (-1, -1)):
            if array.ndim and array.size:
                yield sample(array, np.take(array, index, dim), dim, index)
        yield from (sample(array, make((2, 2), FLOAT32), 0, 0), sample(array, make((), FLOAT32), 0, 7))
    yield sample(make((3, 4), FLOAT32), make((4,), INT64), 5, 0)


def diagonals_over() -> Iterator[Sample]:
    for array in inputs():
        for offset in (0, 1):
            if array.ndim > 1:
                yield sample(array, np.asarray(np.diagonal(array, offset)), offset)
    yield sample(make((3, 4), FLOAT32), make((2,), FLOAT32))
    yield sample(make((3, 4), FLOAT32), make((3,), INT64), 0, 1, 1)
    yield sample(make((3, 4), FLOAT32), make((3,), INT64), 1)


def strides_over() -> Iterator[Sample]:
    array = make((3, 4), FLOAT32)
    yield sample(array, make((2, 2), FLOAT32), [2, 2], [4, 1])
    yield sample(array, make((3,), FLOAT32), [3], [2], 5)
    yield sample(array.T, make((3,), FLOAT32), [3], [2], 5)
    yield sample(array, make((2,), FLOAT32), [3], [2])
    yield sample(make((3, 8), FLOAT32)[:, ::2], make((2,), FLOAT32), [2], [1], 1)


PADS = ([1, 2], [0, 0], [-1, 0], [1, -1], [1, 2, 0, 1], [1, 1, -1, 2], [1, 0, 0, 1, 2, 0], [1], [0] * 12, [-9, 0], [])


def constant_pads() -> Iterator[Sample]:
    yield from with_args(*((pad,) for pad in PADS))
    for dtype in DTYPES:
        yield from (sample(make((2, 3), dtype), [1, 1], value) for value in (0, 1, 2.5, -1, True, 1j, 300))
    yield sample(laid_out("channels_last", FLOAT32), [1, 1, 0, 0, 1, 0], 3)


def borders(spatial: int) -> Iterator[Sample]:
    ones = [1] * (2 * spatial - 2)
    pads = (
        [1] * 2 * spatial, [1, 0] * spatial, [0, 2, *ones], [-1, 1] * spatial, [4, -1, *ones], [9] * 2 * spatial
    )  # fmt: skip
    for array in (
        make((2, 3, 4, 5)[-spatial - 1 :], FLOAT32),
        make((2, 2, 3, 4, 5)[-spatial - 2 :], FLOAT64),
        make((5, 4, 3, 2, 2)[: spatial + 2], FLOAT32).T,
        make((0, 2, 3, 4, 5)[-spatial - 2 :] if spatial == 3 else (0, 3, 4, 5)[: spatial + 2], FLOAT32),
        make((3,), FLOAT32),
    ):
        yield from (sample(array, list(pad)) for pad in pads)
        yield from (sample(array, [1]), sample(array, [-9] * 2 * spatial))
    for dtype in DTYPES:
        yield sample(make((2, 3, 4, 3)[-spatial - 1 :], dtype), [1] * 2 * spatial)
    yield sample(laid_out("channels_last", FLOAT32), [1] * 2 * spatial)


def circles() -> Iterator[Sample]:
    for array in (make((2, 3), FLOAT32), make((1, 2, 4), INT64), make((2, 3, 4, 5), FLOAT32), make((2, 3, 4), BOOL)):
        for pad in ([1, 2], [2, 0, 1, 1], [0, 0], [-1, 1], [5, 5], [1, 1, 1, 1, 1, 1]):
            yield sample(array, pad)
    yield sample(laid_out("channels_last", FLOAT32), [1, 1, 1, 1])


def modes() -> Iterator[Sample]:
    for array in (make((2, 3), FLOAT32), make((1, 2, 4), FLOAT32), make((2, 3, 4, 5), FLOAT32), make((3,), FLOAT32)):
        for mode in ("constant", "reflect", "replicate", "circular", "mirror"):
            yield from (sample(array, pad, mode) for pad in ([1, 2], [1, 1, 0, 2], [1], [0, 0]))
            yield sample(array, [1, 1], mode, 2.5)
    yield sample(make((2, 3), INT64), [1, 1], "constant", 2.5)
    yield sample(make((2, 3), FLOAT32), [1, 1])


def numbered_modes() -> Iterator[Sample]:
    for mode in range(4):
        yield from (sample(make((2, 3, 4), FLOAT32), pad, mode) for pad in ([1, 2], [1, 1, 0, 2]))


SAMPLES: dict[str, Samples] = {
    "flip": partial(with_args, ([0],), ([0, -1],), ([],), ([0, 0],), ([5],)),
    "fliplr": alone,
    "flipud": alone,
    "roll": partial(with_args, ([1],), ([1], [0]), ([1, -7], [0, -1]), ([1], [5]), ([1, 2],), ([1, 2], [0]), ([], [])),
    "rot90": partial(
        with_args, (), (2,), (3, [-1, 0]), (0,), (5, [0, 1]), (-1, [1, 0]), (1, [0, 0]), (1, [0]), (1, [0, 9])
    ),
    "channel_shuffle": channels,
    "pixel_shuffle": pixels,
    "pixel_unshuffle": pixels,
    "narrow_copy": partial(with_args, (0, 0, 1), (-1, 1, 1), (0, -1, 1), (0, 0, 9), (0, 9, 0), (0, 0, -1)),
    "repeat": repeats,
    "tile": repeats,
    "repeat_interleave.Tensor": counts,
    "repeat_interleave.self_Tensor": repeated_by_tensors,
    "repeat_interleave.self_int": partial(with_args, (2,), (3, 0), (0, -1), (2, 5), (-1,)),
    "concat": joined,
    "concatenate": joined,
    **dict.fromkeys(("hstack", "vstack", "row_stack", "dstack", "column_stack"), several),
    "block_diag": blocks,
    "meshgrid": grids,
    "meshgrid.indexing": indexed_grids,
    "cartesian_prod": grids,
    "combinations": chosen,
    "diag": diagonals_from,
    "diagflat": diagonals_from,
    "diag_embed": embedded,
    "tril_indices": triangles_of,
    "triu_indices": triangles_of,
    "slice_scatter": slices_over,
    "select_scatter": places_over,
    "diagonal_scatter": diagonals_over,
    "as_strided_scatter": strides_over,
    "constant_pad_nd": constant_pads,
    **{f"{kind}_pad{n}d": partial(borders, n) for kind in ("reflection", "replication") for n in (1, 2, 3)},
    "_pad_circular": circles,
    "pad": modes,
    "_pad_enum": numbered_modes,
}
