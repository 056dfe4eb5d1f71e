"""What covariances, derivatives of samples, grids of bins and parts of numbers are called with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from samples_linear_algebra import Samples
from sampling import BOOL, COMPLEX128, DTYPES, FLOAT32, FLOAT64, INT64, Sample, make, sample, special


def observations() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 5), dtype))
    for shape in ((), (5,), (1, 5), (3, 1), (0,), (3, 0), (0, 3), (2, 3, 4)):
        yield sample(make(shape, FLOAT64))
    yield sample(make((5, 3), COMPLEX128).T)


def weighted() -> Iterator[Sample]:
    yield from observations()
    array, complex_ = make((3, 5), FLOAT64), make((3, 5), COMPLEX128)
    counts, weights = np.array([1, 2, 0, 3, 1]), np.array([0.5, 1, 0, 2, 1])
    for each in (array, complex_):
        for correction in (0, 1, 2):
            yield sample(each, correction=correction)
            yield sample(each, correction=correction, fweights=counts)
            yield sample(each, correction=correction, aweights=weights)
            yield sample(each, correction=correction, fweights=counts, aweights=weights)
    yield sample(array, correction=9)
    yield sample(array, aweights=weights.astype(FLOAT32))
    yield from (sample(array, fweights=wrong) for wrong in (weights, -counts, counts[:3], counts[None], counts > 0))
    yield from (sample(array, aweights=wrong) for wrong in (counts, -weights, weights[:3], weights[None], weights * 0))


def distances(kind: str) -> Iterator[Sample]:
    """Arrays with spacing and dimensions as the overload takes them."""
    array = make((4, 5), FLOAT64)
    spacing, dim = {
        "scalarint": (2.0, 1), "scalararray": (0.5, [1, 0]), "array": (None, [0, -1]), "scalarrayint": ([2.0], 0),
        "scalarrayarray": ([2.0, 0.5], [1, 0]), "tensorarrayint": ([_places(4)], 0),
        "tensorarray": ([_places(5), _places(4)], [1, 0]),
    }[kind]  # fmt: skip
    given = {"dim": dim} if spacing is None else {"spacing": spacing, "dim": dim}
    for dtype in DTYPES:
        yield sample(make((4, 5), dtype), **given)
    for edge_order in (1, 2, 3, 0):
        yield sample(array, **given, edge_order=edge_order)
        yield sample(make((4, 5), INT64), **given, edge_order=edge_order)
        yield sample(make((5, 4), COMPLEX128).T, **given, edge_order=edge_order)
    yield sample(make((1, 5), FLOAT64), **given)
    yield sample(make((3,), FLOAT64), **given)
    wrong = [0, 0] if isinstance(dim, list) else 5
    yield sample(array, **{**given, "dim": wrong})
    if kind.endswith("int"):
        yield sample(array, spacing=[*spacing] * 2 if isinstance(spacing, list) and kind[0] == "s" else spacing)
    if isinstance(spacing, list):
        yield sample(array, spacing=[*spacing, spacing[0]], dim=dim)
    if kind.startswith("tensor"):
        yield sample(array, spacing=[make((2, 2), FLOAT64)] * len(spacing), dim=dim)


def _places(count: int) -> np.ndarray:
    return np.cumsum(np.arange(1.0, count + 1) % 3 + 0.5)


def grids(kind: str) -> Iterator[Sample]:
    """Points, with bins as the overload takes them."""

    def bins(dtype: np.dtype) -> object:
        edges = [np.array([-4, -1, 0.5, 5]).astype(dtype), np.array([-3, 0, 2]).astype(dtype)]
        return {"edges": edges, "counts": [3, 2], "count": 3}[kind]

    for dtype in DTYPES:
        yield sample(make((20, 2), dtype), bins(dtype))
    for dtype in (FLOAT32, FLOAT64):
        points = make((4, 5, 2), dtype)
        for options in ({}, {"density": True}, {"weight": make((4, 5), dtype, low=1)}):
            yield sample(points, bins(dtype), **options)
            if kind != "edges":
                yield sample(points, bins(dtype), range=[-2.0, 3.0, 0.0, 0.0], **options)
    points = make((20, 2), FLOAT32)
    yield sample(points, bins(FLOAT32), weight=make((3,), FLOAT32))
    yield sample(points, bins(FLOAT32), weight=make((20,), FLOAT64))
    yield from (sample(make(shape, FLOAT32), bins(FLOAT32)) for shape in ((0, 2), (5,), (), (5, 3)))
    if kind == "edges":
        yield sample(points, bins(FLOAT64))
        yield sample(points, [make((1,), FLOAT32)] * 2)
        yield sample(points, [make((2, 3), FLOAT32)] * 2)
    else:
        yield sample(points * np.float32(np.nan), bins(FLOAT32))
        yield sample(points, [0, 2] if kind == "counts" else 0)
        for range_ in ([0.0, 1], [1.0, 0, 0, 1], [0.0, np.inf, 0, 1]):
            yield sample(points, bins(FLOAT32), range=range_)


def parts() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype))
        yield sample(special(dtype))
    yield sample(make((3, 4), FLOAT32).T)
    yield sample(make((0, 4), FLOAT64))
    yield sample(np.array([1e-45, 1e-40, 3e38], np.float32))


def first_positions() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype, low=0, high=2), size=3)
    for shape in ((), (5,), (3, 4), (2, 3, 2), (0, 3), (0,)):
        for size in (0, 2, 30, -1):
            yield sample(make(shape, INT64, low=0, high=2), size=size)
    yield sample(make((3, 4), BOOL).T, size=30, fill_value=7)


KINDS = ("scalarint", "scalararray", "array", "scalarrayint", "scalarrayarray", "tensorarrayint", "tensorarray")

SAMPLES: dict[str, Samples] = {
    "cov": weighted,
    "corrcoef": observations,
    **{f"gradient.{kind}": partial(distances, kind) for kind in KINDS},
    "histogramdd": partial(grids, "counts"),
    "histogramdd.int_bins": partial(grids, "count"),
    "histogramdd.TensorList_bins": partial(grids, "edges"),
    "_histogramdd_bin_edges": partial(grids, "counts"),
    "_histogramdd_from_bin_cts": partial(grids, "counts"),
    "_histogramdd_from_bin_tensors": partial(grids, "edges"),
    "frexp.Tensor": parts,
    "nonzero_static": first_positions,
}
