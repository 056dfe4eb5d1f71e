"""ATen's operators on labelled arrays: each gives what it gives for plain arrays, at once and by Dask, with names."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from aten_binding import import_binding

import opwright
from opwright.errors import ArgumentError
from opwright.testing.sampler import Sample, samples
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import find_packet
from opwright_core.tensors.tensor import Tensor

xr = pytest.importorskip("xarray", reason="xarray is not installed: the group of dependencies `labelled`")
pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")

MOST = 2  # samples of one operator
# Operators that are not compared here, by parts of their names, each with the reason.
NOT_COMPARED = {
    "eigh": "vectors are right up to a sign or a rotation",
    "svd": "vectors are right up to a sign or a rotation",
    "qr": "vectors are right up to a sign",
    "linalg_eig": "values come in any order",
    "eigvals": "values come in any order",
    "empty_like": "its values are not initialized",
    "diagonal": "it pairs dimensions by their positions",
    "rot90": "it exchanges dimensions, which names undo",
}


@pytest.fixture(scope="module")
def binding(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_binding(tmp_path_factory.mktemp("aten"), "xarray")


def functions(binding: ModuleType) -> Iterator[tuple[Operator, Any]]:
    from opwright_bindings.xarray.runtime import Function

    for function in vars(binding).values():
        if isinstance(function, Function) and not any(each in function.__name__ for each in NOT_COMPARED):
            for overload in function._overloads:
                name = f"aten::{function.__name__}"
                yield find_operator(name if overload == "default" else f"{name}.{overload}"), function


def plain_samples(operator: Operator) -> Iterator[tuple[Sample, Any]]:
    """Samples that a call of the packet takes for this operator, with results. Names of their dimensions, counted from
    the last, fit together: none has size 1 in one array alone."""
    packet = find_packet(operator.name.partition(".")[0])
    for sample in samples(operator, dtypes=(opwright.float32,), situations=("contiguous",)):
        arrays = [each.array for each in (*sample.args, *sample.kwargs.values()) if isinstance(each, Tensor)]
        sizes: dict[int, set[int]] = {}
        for array in arrays:
            for place, size in enumerate(reversed(array.shape)):
                sizes.setdefault(place, set()).add(size)
        if any(array.ndim for array in arrays) and all(len(each) == 1 for each in sizes.values()):
            try:
                if packet.resolve(tuple(sample.args), sample.kwargs) is operator:
                    yield sample, operator(*sample.args, **sample.kwargs)
            except (ArgumentError, RuntimeError, ValueError, IndexError):
                continue  # a sample that is refused


def called(function: Any, sample: Any, lazily: bool) -> tuple[Any, ...]:
    """The results for labelled arrays. Dimensions are named from the last, as they broadcast."""

    def given(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        array = xr.DataArray(value.array, dims=[f"d{place}" for place in reversed(range(value.array.ndim))])
        return array.chunk(dict.fromkeys(array.dims, 2)) if lazily and array.ndim else array

    made = function(*map(given, sample.args), **{name: given(value) for name, value in sample.kwargs.items()})
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("lazily", [False, True])
def test_values_are_those_for_plain_arrays(binding: ModuleType, lazily: bool) -> None:
    warnings.simplefilter("ignore")
    count, asked, wrong = 0, 0, []
    for operator, function in functions(binding):
        for sample, result in islice(plain_samples(operator), MOST):
            expected = result if isinstance(result, tuple) else (result,)
            try:
                made = called(function, sample, lazily)
            except ValueError as error:
                if any(each in str(error) for each in ("input_core_dims=", "new_dims=", "twice: rename")):
                    asked += 1  # names that the caller has to give
                    continue
                wrong.append((operator.name, str(error)))
                continue
            count += 1
            for one, other in zip(made, expected, strict=True):
                found = one.transpose(*sorted(one.dims, reverse=True))
                is_lazy = one.chunks is not None or not lazily or not any(map(np.ndim, sample.args))
                is_same = found.dtype == other.array.dtype and np.allclose(
                    found.values, other.array, rtol=1e-4, atol=1e-5, equal_nan=True
                )
                if not is_same or not is_lazy:
                    wrong.append((operator.name, "other values" if is_lazy else "computed at once"))
    print(count, "calls compared,", asked, "need names")
    assert wrong == []
    assert count > 400 and asked < count / 4


@pytest.fixture
def days() -> Any:
    return xr.DataArray(
        [[3.0, 1.0, 2.0, 8.0], [5.0, 7.0, 6.0, 4.0], [9.0, 12.0, 11.0, 10.0]],
        dims=("time", "place"),
        coords={"time": [10, 20, 30], "place": list("abcd"), "month": ("time", [1, 1, 2]), "height": 2.0},
        attrs={"units": "mm"},
        name="rain",
    )


CASES = {
    "sum": (lambda f, x: f.sum(x, dim="time"), lambda x: x.sum("time")),
    "sum of two": (lambda f, x: f.sum(x, dim=["time", "place"]), lambda x: x.sum(["time", "place"])),
    "sum of all": (lambda f, x: f.sum(x), lambda x: x.sum()),
    "mean": (lambda f, x: f.mean(x, "place"), lambda x: x.mean("place")),
    "var": (lambda f, x: f.var(x, "time"), lambda x: x.var("time", ddof=1)),
    "kept": (lambda f, x: f.sum(x, dim="time", keepdim=True), lambda x: x.sum("time", keepdims=True)),
    "amax": (lambda f, x: f.amax(x, "place"), lambda x: x.max("place")),
    "median": (lambda f, x: f.quantile(x, 0.5, "time"), lambda x: x.median("time")),
    "cumsum": (lambda f, x: f.cumsum(x, "time"), lambda x: x.cumsum("time")),
    "clip": (lambda f, x: f.clamp(x, 2, 9), lambda x: x.clip(2, 9)),
    "where": (lambda f, x: f.where(x > 5, x, 0.0), lambda x: x.where(x > 5, 0.0)),
    "broadcast": (lambda f, x: f.add(x, x[0], alpha=2), lambda x: x + 2 * x[0]),
    "the other way": (lambda f, x: f.sub(x[:, 1], x), lambda x: x[:, 1] - x),
    "dot": (
        lambda f, x: f.matmul(x, x.rename(time="other").drop_vars("month").T),
        lambda x: xr.dot(x, x.rename(time="other").drop_vars("month"), dim="place"),
    ),
}


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_labels_are_those_of_xarrays_functions(binding: ModuleType, days: Any, name: str, lazily: bool) -> None:
    ours, theirs = CASES[name]
    given = days.chunk({"time": 2, "place": 3}) if lazily else days
    for keeps in (False, True):
        with xr.set_options(keep_attrs=keeps):
            found, expected = ours(binding, given), theirs(days)
        assert (found.chunks is not None) == lazily
        xr.testing.assert_allclose(found.compute(), expected)
        assert found.dims == expected.dims
        assert set(found.coords) <= set(expected.coords)
        assert found.attrs == (days.attrs if keeps else {})
