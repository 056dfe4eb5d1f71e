"""Samples of factories, random numbers, copies and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    Sample,
    arrays,
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
        for numbers in ((0, -8.000001, -4), (0, 3.1, 1), (1, 5.000001, 2), (0, 5, 2.5), (-0.5, 2.9, 1)):
            yield sample(*numbers, dtype=dtype)


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


def spaced_by_tensors(*more: object) -> Iterator[Sample]:
    for first, last in (
        (np.array(0.5, np.float32), np.array(2)),
        (np.array(1), np.array(4.0)),
        (np.array([1]), np.array(2)),
    ):
        yield from (sample(first, last, steps, *more) for steps in (0, 1, 4))
        yield sample(first, last, 3, *more, dtype=FLOAT64)


def logspaced() -> Iterator[Sample]:
    for start, end, steps in ((0, 1, 5), (0, 5, 1), (0, 5, 0), (3, -2, 11), (0, 1, -1), (-1.5, 2.5, 7), (0, 2, 3)):
        yield from (sample(start, end, steps, *base) for base in ((), (2.0,), (0.5,)))
    for dtype in DTYPES:
        yield from (sample(0, 2, 3, dtype=dtype), sample(0, 4, 5, 2.0, dtype=dtype))


def permuted_sizes() -> Iterator[Sample]:
    for size, order in (([2, 3, 4], [1, 0, 2]), ([], []), ([2, 0], [1, 0]), ([2, 3], [0, 1])):
        yield sample(size, order, dtype=FLOAT64)
    yield from (sample([2, 3], order) for order in ([0], [0, 0], [0, 2], [-1, 0]))


def windows(*more: object) -> Iterator[Sample]:
    yield from (sample(length, *more) for length in (0, 1, 2, 5, 64, -1))
    yield from (sample(6, *more, dtype=dtype) for dtype in DTYPES)


def powers() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((3,), dtype)), sample(make((3,), dtype), 2), sample(make((3,), dtype), 4, True))
    for count in (0, 1, -1):
        yield sample(make((3,), FLOAT32), count)
    yield from (sample(make((0,), FLOAT32)), sample(make((2, 2), FLOAT32)))


def diagonal_fills() -> Iterator[Sample]:
    for shape in ((3, 3), (7, 3), (3, 5), (3, 3, 3), (2, 3, 3), (3,), (4, 3), (9, 1), (0, 2)):
        yield from (sample(make(shape, FLOAT32), 9, wrap) for wrap in (False, True))
    yield from (sample(make((3, 3), dtype), 2.5) for dtype in DTYPES)
    yield sample(make((3, 7), FLOAT32).T, 1, True)


def likes(*more: object) -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, *more)
    yield from (sample(make((2, 3), FLOAT32).T, *more, dtype=dtype) for dtype in DTYPES)


def with_argument(samples: Iterable[Sample], place: int, value: object) -> Iterator[Sample]:
    yield from (Sample((*each.args[:place], value, *each.args[place + 1 :]), each.kwargs) for each in samples)


def elements() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make(shape, dtype)) for shape in ((), (1,), (1, 1), (2,)))


def of_dims(*more: object) -> Iterator[Sample]:
    for array in (make((2, 3), FLOAT32), make((2, 3), FLOAT32).T, make((0, 4, 2), INT32)):
        yield sample(array, *more)


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
    "linspace.Tensor_Tensor": spaced_by_tensors,
    "linspace.Tensor_Scalar": lambda: with_argument(spaced_by_tensors(), 1, 3),
    "linspace.Scalar_Tensor": lambda: with_argument(spaced_by_tensors(), 0, -1.5),
    "logspace": logspaced,
    "logspace.Tensor_Tensor": partial(spaced_by_tensors, 3.0),
    "logspace.Tensor_Scalar": lambda: with_argument(spaced_by_tensors(2.0), 1, 3),
    "logspace.Scalar_Tensor": lambda: with_argument(spaced_by_tensors(2.0), 0, -1.5),
    "empty_permuted": permuted_sizes,
    "vander": powers,
    "fill_diagonal": diagonal_fills,
    **dict.fromkeys(("lift_fresh", "lift_fresh_copy"), likes),
    **dict.fromkeys((f"{name}_window" for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")), windows),
    **dict.fromkeys(
        (f"{name}_window.periodic" for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")),
        partial(windows, False),
    ),
    "hamming_window.periodic_alpha": partial(windows, True, 0.6),
    "hamming_window.periodic_alpha_beta": partial(windows, True, 0.6, 0.3),
    "kaiser_window.beta": partial(windows, False, 7.5),
    **dict.fromkeys(("empty_like", "zeros_like", "ones_like"), like),
    "full_like": partial(like, 1),
    **dict.fromkeys(("new_empty", "new_zeros", "new_ones"), new),
    "new_full": partial(new, 1),
    "new_empty_strided": lambda: (sample(make((2,), dtype), [2, 3], [1, 2]) for dtype in DTYPES),
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
    "sym_size.int": partial(of_dims, 1),
    "sym_stride.int": partial(of_dims, -1),
    **dict.fromkeys(("sym_numel", "sym_storage_offset"), of_dims),
    "_local_scalar_dense": elements,
    "_assert_async": elements,
    "_assert_async.msg": lambda: (Sample((*each.args, "it is zero"), each.kwargs) for each in elements()),
}
