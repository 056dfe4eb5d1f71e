"""Samples of reductions, scans, products and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    Array,
    Sample,
    arrays,
    bfloat16,
    make,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]


def inputs() -> Iterator[Array]:
    yield from arrays()
    for dtype in DTYPES:
        yield special(dtype)
    yield make((3, 0), FLOAT32)
    yield make((0,), INT64)


def whole(dtypes: bool = False) -> Iterator[Sample]:
    for array in inputs():
        yield sample(array)
    if dtypes:
        for dtype in (FLOAT64, INT64, FLOAT16, np.dtype("complex64")):
            yield from (sample(make((2, 3), given), dtype=dtype) for given in (FLOAT32, INT32, bfloat16))


def over_dims(dtypes: bool = False, several: bool = True) -> Iterator[Sample]:
    """One dimension, several, none named, out of range, named twice; kept or not."""
    for array in inputs():
        for dim in (0, -1, 1):
            if dim < max(array.ndim, 1):
                yield sample(array, [dim] if several else dim)
    array = make((2, 3, 4), FLOAT32)
    for view in (array, array.transpose(2, 0, 1), array[:, ::2]):
        yield sample(view, [1] if several else 1, True)
        if several:
            yield from (sample(view, dims, keep) for dims in ([0, 2], [-1, 0], [], [0, 1, 2]) for keep in (False, True))
    yield sample(array, [5] if several else 5)
    if several:
        yield sample(array, [1, 1])
    if dtypes:
        for dtype in (FLOAT64, INT64, FLOAT16):
            yield sample(make((2, 3), INT32), [0] if several else 0, dtype=dtype)


def over_all_or_dims(dtypes: bool = False) -> Iterator[Sample]:
    yield from over_dims(dtypes)
    for array in inputs():
        yield sample(array, None)


def positions() -> Iterator[Sample]:
    for array in inputs():
        yield sample(array)
    yield from over_dims(several=False)
    yield sample(make((2, 3), FLOAT32), None, True)
    yield sample(np.array([1, 3, 3, 0], np.int32), 0)


def spread() -> Iterator[Sample]:
    for array in inputs():
        yield sample(array)
        yield sample(array, None, correction=0, keepdim=True)
    for array in (make((2, 3, 4), FLOAT32), make((4, 3, 2), FLOAT64).T, make((2, 3, 4), np.dtype("complex64"))):
        yield from (sample(array, dims, correction=c) for dims in ([0], [-1], [0, 2]) for c in (None, 0, 2, 1.5, 4))


def spread_unbiased(dim: bool) -> Iterator[Sample]:
    for array in inputs():
        for unbiased in (True, False):
            yield sample(array, [0], unbiased) if dim else sample(array, unbiased)


def scans() -> Iterator[Sample]:
    for array in inputs():
        yield from (sample(array, dim) for dim in (0, -1))
    yield sample(make((2, 3), FLOAT32), 2)
    yield from (sample(make((2, 3), INT32), 0, dtype=dtype) for dtype in (FLOAT32, INT32, FLOAT16))


def with_nan() -> Iterator[Array]:
    for dtype in (FLOAT32, FLOAT64, FLOAT16, bfloat16):
        array = make((3, 4), dtype)
        array[0, 1] = array[2] = np.nan
        array[1, 2] = np.inf
        yield array


def sums_without_nan() -> Iterator[Sample]:
    yield from over_all_or_dims(True)
    for array in with_nan():
        yield from (sample(array, dims, keep) for dims in (None, [0], [-1]) for keep in (False, True))


def counts(several: bool) -> Iterator[Sample]:
    for array in inputs():
        if several:
            yield from (sample(array, dims) for dims in ([0], [-1], []))
        else:
            yield sample(array)
            yield sample(array, -1)
    yield sample(make((2, 3, 4), FLOAT32), [0, 2] if several else 3)


def exponentials() -> Iterator[Sample]:
    yield from over_dims()
    for dtype in (FLOAT32, FLOAT64, bfloat16):
        yield from (
            sample(np.array(row, np.float32).astype(dtype), [0])
            for row in ([-np.inf, -np.inf], [np.inf, 1], [np.inf, -np.inf], [np.nan, 1], [1000, 999], [-np.inf, 2])
        )


def extremes() -> Iterator[Sample]:
    for array in (*inputs(), *with_nan()):
        yield sample(array)
        yield from (sample(array, dim=dim, keepdim=keep) for dim in (0, -1) for keep in (False, True))
    yield sample(make((2, 3), FLOAT32), dim=2)
    yield sample(make((2, 3), FLOAT32), keepdim=True)


ORDERS = (2, 0, 1, 3, 2.5, -1, np.inf, -np.inf)


def norms(*, dims: bool, dtype: bool) -> Iterator[Sample]:
    def each(array: Array, order: object, *rest: object, **options: object) -> Sample:
        return sample(array, order, *(rest if dims else ()), **options)

    keep = (False,) if dtype else ()
    for array in inputs():
        if array.size:
            options = {"dtype": np.result_type(array.dtype, np.float32)} if dtype and array.dtype != bfloat16 else {}
            yield each(array, 2, [0], *keep, **(options or ({"dtype": FLOAT32} if dtype else {})))
    wide = {"dtype": FLOAT64} if dtype else {}
    for array in (make((2, 3, 4), FLOAT32), make((4, 3, 2), FLOAT32).T, make((2, 3, 4), bfloat16), make((), FLOAT32)):
        for order in ORDERS if dims else ORDERS[:-1]:
            yield each(array, order, [0], *keep, **wide)
            yield each(array, order, [-1], True, **wide)
            yield each(array, order, [], False, **wide)
    complexes = {"dtype": np.dtype("complex128")} if dtype else {}
    for order in ORDERS:
        yield each(make((3, 4), np.dtype("complex64")), order, [1], *keep, **complexes)
        yield each(make((3, 0), FLOAT32), order, [0], *keep, **wide)
        yield each(make((3, 0), FLOAT32), order, [1], *keep, **wide)
        yield each(make((3, 0), FLOAT32), order, [], *keep, **wide)
    if dtype:
        for given, wanted in ((FLOAT64, FLOAT32), (FLOAT32, INT64), (FLOAT32, np.dtype("complex64"))):
            yield each(make((2, 3), given), 2, [0], *keep, dtype=wanted)
        yield each(make((2, 3), np.dtype("complex64")), 2, [0], *keep, dtype=FLOAT32)
        yield each(make((2, 3), FLOAT32), None, [0], *keep, dtype=FLOAT32)


def vector_norms() -> Iterator[Sample]:
    yield from (sample(array) for array in inputs())
    yield from norms(dims=True, dtype=False)
    yield from norms(dims=True, dtype=True)
    yield sample(make((2, 3), FLOAT32), 2, None, True)


def frobenius_norms() -> Iterator[Sample]:
    for array in inputs():
        yield sample(array, [0])
    array = make((2, 3, 4), FLOAT32)
    yield from (sample(array, dims, keep) for dims in ([0, 1], [-1, 0], [0, 1, 2], []) for keep in (False, True))


def distances() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((2, 3), dtype, seed=1))
    for order in ORDERS:
        yield sample(make((2, 3), FLOAT32), make((3,), FLOAT32), order)
    yield sample(make((2, 3), FLOAT32), make((4,), FLOAT32))


def sums_to_size() -> Iterator[Sample]:
    for array in (make((2, 3, 4), FLOAT32), make((4, 3, 2), INT32).T, make((2, 3, 4), bfloat16)):
        for size in ([2, 3, 4], [3, 1], [1, 3, 4], [], [1], [4], [3, 4], [2, 1, 1], [2, 2, 4], [1, 2, 3, 4]):
            yield sample(array, size)


def extreme_scans() -> Iterator[Sample]:
    for array in (*inputs(), *with_nan()):
        yield from (sample(array, dim) for dim in (0, -1))
    yield sample(make((2, 3), FLOAT32), 2)
    yield sample(np.array([1, 3, 3, 2, 3, 4, 0], np.int32), 0)
    yield sample(np.array([np.nan, 1, np.nan, 2], np.float32), 0)


def exponential_scans() -> Iterator[Sample]:
    for array in inputs():
        yield from (sample(array, dim) for dim in (0, -1))
    yield sample(make((5, 37), np.dtype("complex64")), 1)
    yield sample(np.array([-np.inf, -np.inf, 1, np.inf, np.inf, 2], np.float32), 0)


def differences() -> Iterator[Sample]:
    for array in inputs():
        yield sample(array)
        yield from (sample(array, n, 0) for n in (0, 1, 2, 9))
    array = make((2, 3, 4), FLOAT32)
    yield sample(array, 1, 1, make((2, 1, 4), FLOAT32), make((2, 2, 4), FLOAT32))
    yield sample(array, 1, 1, None, make((2, 2, 4), FLOAT32))
    yield sample(array, 2, 1, make((2, 1, 4), INT64), None)
    yield sample(array, 1, 1, make((1, 4), FLOAT32))
    yield from (sample(array, n, 0) for n in (-1,))
    yield sample(array, 1, 3)


def integrals(places: bool) -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, INT64, bfloat16, np.dtype("complex64"), np.dtype("bool")):
        y = make((3, 4), dtype)
        for dim in (-1, 0):
            if places:
                yield sample(y, make((3, 4), dtype, seed=1), dim=dim)
                yield sample(y, make((y.shape[dim],), FLOAT32, seed=1), dim=dim)
            else:
                yield from (sample(y, dx=dx, dim=dim) for dx in (1, 0.5, 3))
    y = make((3, 4), FLOAT32)
    if places:
        yield sample(y, make((5,), FLOAT32))
        yield sample(y, make((2, 3, 4), FLOAT32))
        yield sample(make((2, 3, 4), FLOAT32), y)
        yield sample(make((4,), FLOAT32), make((4, 2, 3), FLOAT32), dim=-1)
        yield sample(make((3, 0), FLOAT32), make((0,), FLOAT32))
    else:
        yield sample(y)
        yield sample(make((3, 0), FLOAT32))
        yield sample(make((4, 3), FLOAT32).T, dim=1)
        yield sample(y, dim=2)


def softmax(*more: object) -> Iterator[Sample]:
    for array in arrays():
        yield from (sample(array, dim, *more) for dim in (0, -1))
    for dtype in (FLOAT32, bfloat16, FLOAT16):
        values = special(dtype)
        yield sample(values[np.isfinite(values.astype(np.float32))], 0, *more)
        yield sample(values, 0, *more)
    yield sample(make((2, 3), FLOAT32), 3, *more)


def softmax_to() -> Iterator[Sample]:
    yield from softmax()
    yield from (sample(make((2, 3), dtype), 0, FLOAT64) for dtype in (FLOAT32, INT64, FLOAT16))


def layer_norm(native: bool) -> Iterator[Sample]:
    eps = (1e-5,) if native else ()
    for dtype in DTYPES:
        array, weight, bias = make((2, 3, 4), dtype), make((4,), dtype, seed=1), make((4,), dtype, seed=2)
        yield from (
            sample(array, [4], w, b, *eps) for w, b in ((None, None), (weight, bias), (weight, None), (None, bias))
        )
    array = make((4, 3, 2), FLOAT32)
    for view in (array, array.T, array[:, ::2]):
        yield from (sample(view, list(view.shape[k:]), None, None, *eps) for k in (0, 1, 2))
    yield sample(make((2, 3), bfloat16), [3], make((3,), FLOAT32), make((3,), FLOAT32), *eps)
    for dtype, other in ((FLOAT16, FLOAT32), (FLOAT32, FLOAT64), (FLOAT64, FLOAT32), (FLOAT16, bfloat16)):
        yield sample(make((2, 4), dtype), [4], make((4,), other), make((4,), other, seed=1), *eps)
    yield from (sample(array, shape, None, None, *eps) for shape in ([4], [], [1, 4, 3, 2]))
    yield sample(array, [2], make((3,), FLOAT32), None, *eps)


SAMPLES: dict[str, Samples] = {
    "sum": partial(whole, True),
    "prod": partial(whole, True),
    "mean": partial(whole, True),
    "sum.dim_IntList": partial(over_all_or_dims, True),
    "mean.dim": partial(over_all_or_dims, True),
    "prod.dim_int": partial(over_dims, True, False),
    **dict.fromkeys(("amax", "amin"), over_dims),
    **dict.fromkeys(("any", "all", "max", "min"), whole),
    **dict.fromkeys(("any.dim", "all.dim", "max.dim", "min.dim"), partial(over_dims, several=False)),
    **dict.fromkeys(("any.dims", "all.dims"), over_all_or_dims),
    **dict.fromkeys(("argmax", "argmin"), positions),
    **dict.fromkeys(("var", "std"), partial(spread_unbiased, False)),
    **dict.fromkeys(("var.dim", "std.dim"), partial(spread_unbiased, True)),
    **dict.fromkeys(("var.correction", "std.correction"), spread),
    **dict.fromkeys(("var_mean", "std_mean"), partial(spread_unbiased, False)),
    **dict.fromkeys(("var_mean.dim", "std_mean.dim"), partial(spread_unbiased, True)),
    **dict.fromkeys(("var_mean.correction", "std_mean.correction"), spread),
    **dict.fromkeys(("nansum", "nanmean"), sums_without_nan),
    "count_nonzero": partial(counts, False),
    "count_nonzero.dim_IntList": partial(counts, True),
    **dict.fromkeys(("logsumexp", "special_logsumexp"), exponentials),
    "aminmax": extremes,
    "norm.Scalar": partial(norms, dims=False, dtype=False),
    "norm.ScalarOpt_dtype": partial(norms, dims=False, dtype=True),
    "norm.ScalarOpt_dim": partial(norms, dims=True, dtype=False),
    "norm.ScalarOpt_dim_dtype": partial(norms, dims=True, dtype=True),
    "linalg_vector_norm": vector_norms,
    "frobenius_norm.dim": frobenius_norms,
    "dist": distances,
    "sum_to_size": sums_to_size,
    **dict.fromkeys(("cumsum", "cumprod"), scans),
    **dict.fromkeys(("cummax", "cummin"), extreme_scans),
    "logcumsumexp": exponential_scans,
    "diff": differences,
    **dict.fromkeys(("trapezoid.x", "trapz.x", "cumulative_trapezoid.x"), partial(integrals, True)),
    **dict.fromkeys(("trapezoid.dx", "trapz.dx", "cumulative_trapezoid.dx"), partial(integrals, False)),
    **dict.fromkeys(("_softmax", "_log_softmax"), partial(softmax, False)),
    **dict.fromkeys(("softmax.int", "log_softmax.int"), softmax_to),
    "native_layer_norm": partial(layer_norm, True),
    "layer_norm": partial(layer_norm, False),
}
