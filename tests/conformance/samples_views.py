"""Samples of views over other views, of parts, windows and other dtypes, and of views in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from samples_shapes import SAMPLES as VIEWS
from samples_shapes import alone, expansions, inputs, with_args
from sampling import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    DTYPES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    LAYOUTS,
    Sample,
    laid_out,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]

STACKED = ((4,), (4, 6), (2, 3, 4), (2, 3, 4, 2), (), (2, 0))


def shapes_of_others() -> Iterator[Sample]:
    for array in inputs():
        yield from (sample(array, make(shape, INT32)) for shape in ((array.size,), (4, 3, 2), (2, 3)))


def unflattened() -> Iterator[Sample]:
    for array in (make((4, 6), FLOAT32), make((6, 4), FLOAT32).T, laid_out("stepped", FLOAT32), make((), FLOAT32)):
        for dim, sizes in ((0, [2, 2]), (1, [3, -1]), (-1, [1, -1, 2]), (0, [5]), (0, [-1, -1]), (0, []), (7, [1])):
            yield sample(array, dim, sizes)
    yield sample(make((2, 0), FLOAT32), 1, [0, 3])
    yield sample(make((2, 0), FLOAT32), 1, [0, -1])


def narrowed() -> Iterator[Sample]:
    array = make((4, 3), FLOAT32)
    for start in (np.array(1), np.array(-1, np.int32), np.array([1]), np.array(1.0), np.array(9), np.array(True)):
        yield sample(array, 0, start, 1)


def several() -> Iterator[Sample]:
    for some in (((2, 3), (3,)), ((2, 1), (1, 3), ()), ((4,), (3,)), ((0,), (1,)), ((), ())):
        yield sample([make(shape, FLOAT32) for shape in some])
    yield sample([make((3, 2), FLOAT32).T, make((3,), INT64)])


def at_least() -> Iterator[Sample]:
    yield from alone()


def at_least_each() -> Iterator[Sample]:
    yield sample([make(shape, FLOAT32) for shape in STACKED])
    yield sample([make((3, 2), INT64).T, make((3,), INT64)[::2]])
    yield sample([])


def split_by_tensors() -> Iterator[Sample]:
    array = make((7, 3), FLOAT32)
    for given in (
        np.array(3),
        np.array([1, 4]),
        np.array([], np.int64),
        np.array([[1]]),
        np.array(0),
        np.array([1], np.int32),
        np.array([5, 2, -1, 99]),
    ):
        yield from (sample(array, given), sample(array, given, 1))
    yield sample(make((), FLOAT32), np.array(1))


def parts(*choices: object) -> Iterator[Sample]:
    for shape in STACKED:
        yield from (sample(make(shape, FLOAT32), choice) for choice in choices)
    yield from (sample(make((6, 4, 4), INT64).transpose(1, 0, 2), choice) for choice in choices)


def windows() -> Iterator[Sample]:
    for array in inputs():
        for dim, size, step in (
            (0, 2, 1),
            (-1, 3, 2),
            (1, 1, 1),
            (0, 0, 1),
            (0, 9, 1),
            (0, 1, 0),
            (0, -1, 1),
            (5, 1, 1),
        ):
            yield sample(array, dim, size, step)
    yield sample(make((), FLOAT32), 0, 1, 1)
    yield sample(make((10,), FLOAT32), 0, 4, 3)


def bytes_as() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((2, 4), dtype, low=0, high=2), other) for other in DTYPES if other != BOOL)
    for layout in LAYOUTS:
        for other in (INT32, INT8, FLOAT64):
            yield sample(laid_out(layout, FLOAT32), other)
    yield sample(make((3, 4), FLOAT32)[:, :3], FLOAT64)
    yield sample(make((3, 5), FLOAT32)[:, :4], FLOAT64)
    yield sample(make((3, 6), FLOAT32)[:, :4], FLOAT64)
    yield sample(make((3, 0), FLOAT32), FLOAT64)
    yield sample(make((2, 3), BOOL), INT8)


def complex_numbers() -> Iterator[Sample]:
    for dtype in (COMPLEX64, COMPLEX128):
        yield from (sample(laid_out(layout, dtype)) for layout in LAYOUTS)


def complex_and_real() -> Iterator[Sample]:
    yield from complex_numbers()
    yield from (sample(make((2, 3), dtype)) for dtype in DTYPES)


def pairs_of_reals() -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, INT64):
        yield sample(make((3, 2), dtype))
        yield sample(make((2,), dtype))
    yield sample(make((2, 3, 2), FLOAT32).transpose(1, 0, 2))
    yield sample(make((3, 4), FLOAT32)[:, :2])
    for array in (
        make((3, 3), FLOAT32)[:, :2],
        make((3, 4), FLOAT32)[:, ::2],
        make((3,), FLOAT32),
        make((), FLOAT32),
        make((0, 2), FLOAT32),
        make((2, 3), FLOAT32).T,
    ):
        yield sample(array)


def aliases() -> Iterator[Sample]:
    yield sample(make((2, 3), FLOAT32), [3, 2], [2, 1])
    yield sample(make((2, 3), FLOAT32), [6], [1])
    yield sample(make((4, 3), FLOAT32)[::2], [2, 3], [6, 1])


def resized_as() -> Iterator[Sample]:
    for template in (make((2, 3), FLOAT32), make((3, 2), INT64).T, laid_out("channels_last", FLOAT32), make((), BOOL)):
        yield sample(make((120,), FLOAT32), template)


DIMS: tuple[tuple[int, int], ...] = ((0, 1), (-1, 0), (0, 0), (0, 2), (1, 5))

SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("swapaxes", "swapdims"), partial(with_args, *DIMS)),
    **dict.fromkeys(("mT", "ravel", "atleast_1d", "atleast_2d", "atleast_3d"), alone),
    **dict.fromkeys(("atleast_1d.Sequence", "atleast_2d.Sequence", "atleast_3d.Sequence"), at_least_each),
    "moveaxis.int": partial(with_args, (0, -1), (1, 0), (0, 7)),
    "moveaxis.intlist": partial(with_args, ([0, 1], [-1, 0]), ([0], [0]), ([0, 0], [0, 1]), ([0, 1], [0])),
    **dict.fromkeys(("mH", "adjoint", "matrix_H"), complex_and_real),
    "view_as": shapes_of_others,
    "reshape_as": shapes_of_others,
    "_reshape_alias": aliases,
    "unflatten.int": unflattened,
    "narrow.Tensor": narrowed,
    "broadcast_to": expansions,
    "broadcast_tensors": several,
    "tensor_split.sections": partial(with_args, (1,), (3, -1), (2, 0), (0,), (9, 0), (-1,), (2, 5)),
    "tensor_split.indices": partial(with_args, ([1],), ([1, 2], -1), ([], 0), ([5, 2, -1],), ([1], 5)),
    "tensor_split.tensor_indices_or_sections": split_by_tensors,
    "hsplit.int": partial(parts, 2, 3, 0, 1),
    "vsplit.int": partial(parts, 2, 3, 0, 1),
    "dsplit.int": partial(parts, 2, 3, 0, 1),
    "hsplit.array": partial(parts, [1], [1, 3], [], [-1, 9]),
    "vsplit.array": partial(parts, [1], [1, 3], [], [-1, 9]),
    "dsplit.array": partial(parts, [1], [1, 3], [], [-1, 9]),
    "unsafe_split.Tensor": partial(with_args, (1,), (2, -1), (5, 0), (0,), (-1,)),
    "unsafe_split_with_sizes": partial(with_args, ([1, 1],), ([1, 2], 1), ([2, -1],), ([], 0)),
    "unsafe_chunk": partial(with_args, (2,), (3, -1), (1, 0), (0,), (9, 0)),
    "unfold": windows,
    "view.dtype": bytes_as,
    "view_as_real": complex_and_real,
    "view_as_complex": pairs_of_reals,
    "real": complex_and_real,
    "imag": complex_and_real,
    "resize_as": resized_as,
}

COPIED = (
    "alias", "as_strided", "detach", "diagonal", "expand", "permute", "_reshape_alias", "select.int", "slice.Tensor",
    "squeeze", "squeeze.dim", "squeeze.dims", "t", "transpose.int", "unfold", "unsqueeze", "view_as_complex",
    "view_as_real", "view", "view.dtype", "split.Tensor", "split_with_sizes", "unbind.int",
)  # fmt: skip

for _name in COPIED:
    _base, _, _overload = _name.partition(".")
    SAMPLES[f"{_base}_copy.{_overload}" if _overload else f"{_base}_copy"] = (VIEWS | SAMPLES)[_name]
