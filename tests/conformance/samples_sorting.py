"""Samples of sorting, order statistics, unique elements and bins.

Where equal elements leave it open which of them is meant, samples have none: PyTorch's answer is then arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import seeds
from sampling import (
    BOOL,
    COMPLEX64,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    INTEGERS,
    UINT8,
    Array,
    Sample,
    arrays,
    bfloat16,
    make,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]
REAL = tuple(dtype for dtype in DTYPES if dtype not in (COMPLEX64, np.dtype("complex128")))


def distinct(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> Array:
    """Different numbers in random order, as many as the shape has."""
    count = int(np.prod(shape))
    return (
        (seeds.numpy_generator(seed).permutation(count) - (0 if dtype in (BOOL, UINT8) else count // 2))
        .astype(dtype)
        .reshape(shape)
    )


def without_ties(nan: bool = True) -> Iterator[Array]:
    for dtype in DTYPES:
        if dtype != BOOL:
            yield distinct((3, 4), dtype)
    for dtype in (FLOAT32, INT64, bfloat16):
        yield distinct((4, 3, 2), dtype).T
        yield distinct((2, 6, 8), dtype)[:, ::2, 1::2]
        yield distinct((3, 4, 2), dtype).transpose(2, 0, 1)
        yield make((), dtype)
        yield make((2, 0, 4), dtype)
        yield make((0,), dtype)
        yield distinct((1, 7), dtype)
    yield distinct((500,), FLOAT32)
    yield distinct((2, 300), INT64)
    if nan:
        for dtype in (FLOAT32, FLOAT64, FLOAT16, bfloat16):
            row = distinct((3, 5), dtype)
            row[0, 2] = row[2, 4] = np.nan
            row[1, 1], row[1, 3] = np.inf, -np.inf
            yield row


def with_ties() -> Iterator[Array]:
    yield from arrays()
    for dtype in DTYPES:
        yield special(dtype)
    yield np.array([0.0, -0.0, 1.0, -0.0, 0.0, np.nan, -np.nan], np.float32)
    yield np.array([3, 1, 2, 3, 1, 2, 3], np.int64)


def sorting() -> Iterator[Sample]:
    for array in with_ties():
        yield sample(array)
        yield from (sample(array, dim, True) for dim in (0, -1))
    for array in without_ties():
        yield from (sample(array, dim, down) for dim in (0, -1) for down in (False, True))
    yield sample(make((2, 3), FLOAT32), 2)


def stable_sorting() -> Iterator[Sample]:
    for each in sorting():
        names = dict(zip(("dim", "descending"), each.args[1:], strict=False))
        yield sample(each.args[0], stable=True, **names)
    for dtype in (UINT8, FLOAT32, FLOAT64, INT64, FLOAT16):
        yield from (sample(make((2, 400), dtype), stable=True, descending=down) for down in (False, True))


def first_dimension() -> Iterator[Sample]:
    yield from (sample(array) for array in with_ties())


def topk() -> Iterator[Sample]:
    for array in without_ties():
        for k in (0, 1, 2):
            yield sample(array, k)
            yield from (sample(array, k, dim, largest) for dim in (0, -1) for largest in (True, False))
    yield from (sample(make((2, 3), FLOAT32), k, *dim) for k, dim in ((4, ()), (-1, ()), (3, ()), (1, (2,))))
    yield from (sample(distinct((500,), dtype), 5) for dtype in (FLOAT32, FLOAT64, INT64, bfloat16))


def kthvalue() -> Iterator[Sample]:
    for array in without_ties():
        yield from (sample(array, k) for k in (0, 1, 2))
        yield from (sample(array, 2, dim, keep) for dim in (0, -1) for keep in (True, False))
    yield sample(make((2, 3), FLOAT32), 4)
    yield sample(make((2, 3), FLOAT32), 1, 2)


def whole() -> Iterator[Sample]:
    for array in (*with_ties(), *without_ties()):
        yield sample(array)
    yield sample(np.full(3, np.nan, np.float32))


def along_dim(nan: bool = True) -> Iterator[Sample]:
    for array in without_ties(nan):
        yield from (sample(array, dim, keep) for dim in (0, -1) for keep in (False, True))
    yield sample(make((2, 3), FLOAT32), 2)


def mode() -> Iterator[Sample]:
    yield from along_dim(nan=False)
    for array in arrays():
        yield from (sample(array, *dim) for dim in ((), (0,)))
    yield from (sample(make((3, 40), dtype, low=-2, high=3), 0) for dtype in (INT64, UINT8, BOOL))


def quantiles(several: bool) -> Iterator[Sample]:
    interpolations = ("linear", "lower", "higher", "midpoint", "nearest")
    for dtype in (FLOAT32, FLOAT64):
        array = distinct((3, 4, 5), dtype)
        broken = array.copy()
        broken[0, 1, 2] = np.nan
        broken[1, 1] = np.nan
        fractions = [np.array([0, 0.25, 0.6, 1], dtype), np.array(0.3, dtype), np.array([0.5], dtype)]
        for q in fractions if several else [0.0, 0.3, 1.0]:
            for each in (array, broken, array.T, array[:, ::2]):
                yield sample(each, q)
                yield from (sample(each, q, dim, keep) for dim in (None, 0, -1, 1) for keep in (False, True))
            yield from (sample(array, q, 1, interpolation=name) for name in interpolations)
            yield sample(make((), dtype), q)
            yield sample(make((), dtype), q, 0, True)
    wrong = np.array([1.5], np.float32) if several else 1.5
    right = np.array([0.5], np.float32) if several else 0.5
    yield sample(make((3,), FLOAT32), wrong)
    yield from (sample(make((3,), dtype), right) for dtype in (INT64, FLOAT16, COMPLEX64))
    yield sample(make((0,), FLOAT32), right)
    yield sample(make((3,), FLOAT32), right, interpolation="cubic")
    yield sample(make((3,), FLOAT32), right, 1)


def unique(*flags: int) -> Iterator[Sample]:
    """Every combination of `flags` booleans."""
    for array in with_ties():
        yield sample(array)
        yield from (sample(array, *given) for given in np.ndindex(*flags))


def unique_slices(*flags: int) -> Iterator[Sample]:
    for dtype in (*INTEGERS, BOOL, FLOAT32, FLOAT64, FLOAT16, bfloat16):
        array = make((5, 2, 3), dtype, low=0, high=2)[[0, 1, 1, 0, 2, 0, 3, 4]]
        for dim in (0, 1, -1):
            yield sample(array, dim)
            yield from (sample(array, dim, *given) for given in np.ndindex(*flags))
    for view in (make((4, 2), INT64, low=0, high=2).T, make((4, 2), FLOAT32, low=0, high=2)[::2]):
        yield from (sample(view, dim, *(1 for _ in flags)) for dim in (0, 1))
    yield from (sample(make((3, 0), FLOAT32), dim) for dim in (0, 1))
    yield sample(make((), FLOAT32), 0)
    yield sample(make((2, 3), FLOAT32), 2)


def unique_neighbours() -> Iterator[Sample]:
    yield from unique(2, 2)
    for each in unique_slices(2, 2):
        array, dim, *flags = each.args
        yield sample(array, *flags, dim=dim)


def boundaries(dtype: np.dtype) -> Array:
    return np.array([1, 2, 2, 5, 9], dtype)


def searches(number: bool) -> Iterator[Sample]:
    for dtype in DTYPES:
        values = 2 if number else make((3, 4), dtype)
        yield sample(boundaries(dtype), values)
        for options in ({"right": True}, {"side": "right"}, {"out_int32": True}, {"side": "left", "right": False}):
            yield sample(boundaries(dtype), values, **options)
    row = boundaries(FLOAT32)
    value = 2.0 if number else np.array([2, np.nan, np.inf, -np.inf, 0], np.float32)
    for sequence in (row, np.array([1, np.nan, 3], np.float32), row[:0], row[::2]):
        yield sample(sequence, value)
    shuffled = np.array([5, 1, 9, 2, 2], np.float32)
    for order in ([1, 3, 4, 0, 2], [0, 1], [0, 1, 2, 3, 5], [-1, 0, 1, 2, 3]):
        yield sample(shuffled, value, sorter=np.array(order))
    yield sample(shuffled, value, sorter=np.array([1, 3, 4, 0, 2], np.int32))
    yield sample(row, value, side="left", right=True)
    yield sample(row, value, side="middle")
    yield sample(np.sort(make((3, 5), FLOAT32)), value)
    yield sample(make((), FLOAT32), value)
    if number:
        yield from (sample(boundaries(dtype), each) for dtype in (INT64, UINT8, FLOAT32) for each in (-1, 2.5, True))
        return
    rows = np.sort(make((2, 3, 5), FLOAT32))
    yield from (sample(rows, make((2, 3, 4), FLOAT32, seed=1), right=right) for right in (False, True))
    yield sample(rows, make((4, 3, 2), FLOAT32).T)
    yield sample(np.sort(make((2, 5), INT64)), make((2, 0), INT64))
    yield sample(np.sort(make((2, 5), INT64)), make((3, 4), INT64))
    yield sample(row, make((2,), FLOAT64))
    yield sample(row, make((), FLOAT32))
    yield sample(row, make((4, 3), FLOAT32).T)


def buckets(number: bool) -> Iterator[Sample]:
    for each in searches(number):
        if not {"side", "sorter"} & set(each.kwargs):
            yield sample(each.args[1], each.args[0], **each.kwargs)


def bincount() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((6,), dtype, low=0))
    array = np.array([1, 5, 5, 2])
    yield from (sample(array, make((4,), dtype)) for dtype in DTYPES if dtype.kind != "c")
    yield from (sample(array, None, least) for least in (0, 3, 10, -1))
    yield sample(array, make((4,), FLOAT32), 9)
    yield sample(array, make((3,), FLOAT32))
    yield sample(array[::2])
    for wrong in (make((2, 3), INT64, low=0), make((), INT64, low=0), np.array([-1, 2]), make((0,), FLOAT32)):
        yield sample(wrong)
    yield from (sample(make((0,), INT64), None, least) for least in (0, 3))


def histc() -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, 4)
    for dtype in (FLOAT32, FLOAT64, bfloat16, FLOAT16):
        yield from (
            sample(make((30,), dtype), bins, *range_) for bins in (1, 5) for range_ in ((), (-2, 3), (0.5, 0.5))
        )
    array = make((30,), FLOAT32)
    yield sample(array)
    yield from (sample(array, 4, *range_) for range_ in ((3, -3), (0, np.inf)))
    yield from (sample(array, bins) for bins in (0, -1))
    yield sample(np.array([1, np.nan], np.float32), 3)
    yield sample(np.array([1, np.nan, 9, 2], np.float32), 3, 0, 2)
    yield sample(np.ones(3, np.float32), 3)
    yield sample(make((0,), FLOAT32), 3)


def histogram(edges: bool) -> Iterator[Sample]:
    def bins(dtype: np.dtype) -> object:
        return np.array([-4, -1, 0.5, 3, 4]).astype(dtype) if edges else 4

    for dtype in DTYPES:
        yield sample(make((3, 7), dtype), bins(dtype))
    for dtype in (FLOAT32, FLOAT64):
        array = make((40,), dtype)
        for options in ({}, {"density": True}, {"weight": make((40,), dtype, low=1)}):
            yield sample(array, bins(dtype), **options)
            if not edges:
                yield sample(array, 5, range=[-2.0, 3.0], **options)
    array = make((30,), FLOAT32)
    yield sample(np.array([1, np.nan, 9, 2], np.float32), *([bins(FLOAT32)] if edges else [3]))
    yield sample(array, bins(FLOAT32), weight=make((3,), FLOAT32))
    if edges:
        yield sample(array, bins(FLOAT64))
        yield sample(array, np.array([1.0], np.float32))
        yield sample(array, make((2, 3), FLOAT32))
    else:
        yield sample(array)
        yield from (sample(array, n) for n in (0, -1))
        yield sample(array, 3, range=[3.0, -3.0])
        yield sample(array, 3, range=[3.0, 3.0])
        yield sample(array, 3, range=[0.0, 0.0])
        yield sample(array, 3, range=[1.0])
        yield sample(np.ones(3, np.float32), 3)
        yield sample(make((0,), FLOAT32), 3)


SAMPLES: dict[str, Samples] = {
    "sort": sorting,
    "sort.stable": stable_sorting,
    "argsort": sorting,
    "argsort.stable": stable_sorting,
    "msort": first_dimension,
    "topk": topk,
    "kthvalue": kthvalue,
    **dict.fromkeys(("median", "nanmedian"), whole),
    **dict.fromkeys(("median.dim", "nanmedian.dim"), along_dim),
    "mode": mode,
    **dict.fromkeys(("quantile", "nanquantile"), partial(quantiles, True)),
    **dict.fromkeys(("quantile.scalar", "nanquantile.scalar"), partial(quantiles, False)),
    "_unique": partial(unique, 2, 2),
    "_unique2": partial(unique, 2, 2, 2),
    "unique_dim": partial(unique_slices, 2, 2, 2),
    "unique_consecutive": unique_neighbours,
    "unique_dim_consecutive": partial(unique_slices, 2, 2),
    "searchsorted.Tensor": partial(searches, False),
    "searchsorted.Scalar": partial(searches, True),
    "bucketize.Tensor": partial(buckets, False),
    "bucketize.Scalar": partial(buckets, True),
    "bincount": bincount,
    "histc": histc,
    "histogram.bins_tensor": partial(histogram, True),
    "histogram.bin_ct": partial(histogram, False),
}
