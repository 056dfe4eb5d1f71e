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
    **dict.fromkeys(("cumsum", "cumprod"), scans),
    **dict.fromkeys(("_softmax", "_log_softmax"), partial(softmax, False)),
    **dict.fromkeys(("softmax.int", "log_softmax.int"), softmax_to),
    "native_layer_norm": partial(layer_norm, True),
    "layer_norm": partial(layer_norm, False),
}
