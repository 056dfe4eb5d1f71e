"""Labelled arrays in calls: core dimensions, coordinates, alignment, attributes, Datasets, laziness, errors."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from copying import copy_example

from opwright_codegen.cli import main

xr = pytest.importorskip("xarray", reason="xarray is not installed: the group of dependencies `labelled`")
dask = pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")

MORE = """
- func: labelled::ends(Tensor self, int dim=-1) -> (Tensor low, Tensor high)
  meta: reduce(self, dim), reduce(self, dim)
  dispatch: {CPU: "(self.min(dim), self.max(dim))"}

- func: labelled::repeated(Tensor self, int times) -> Tensor
  meta: gufunc("(n)->(n,times)", self, times=times)
  dispatch: {CPU: "xp.repeat(self[..., None], times, -1)"}

- func: labelled::backwards(Tensor self) -> Tensor
  meta: gufunc("(n)->(n)", self)
  dispatch: {CPU: "self[..., ::-1].copy()"}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("labels") / "everywhere"
    copy_example("everywhere", folder)
    for name, more in (("ops.yaml", MORE), ("derivatives.yaml", "")):
        text = (folder / name).read_text(encoding="utf-8").replace("everywhere::", "labelled::")
        (folder / name).write_text(text + more, encoding="utf-8")
    settings = folder / "pyproject.toml"
    text = settings.read_text(encoding="utf-8").replace("everywhere_ops", "labelled_ops")
    settings.write_text(text.replace("bindings = [", 'bindings = ["xarray", '), encoding="utf-8")
    with contextlib.chdir(folder):
        assert main(["generate"]) == 0
    sys.path.insert(0, str(folder))
    yield importlib.import_module("labelled_ops_xarray")
    sys.path.remove(str(folder))


@pytest.fixture
def days() -> Any:
    return xr.DataArray(
        np.arange(12.0).reshape(3, 4) - 5,
        dims=("time", "place"),
        coords={"time": [10, 20, 30], "place": list("abcd"), "month": ("time", [1, 1, 2]), "height": 2.0},
        attrs={"units": "mm"},
        name="rain",
    )


def test_core_dimensions_have_the_names_that_the_caller_gives(ops: Any, days: Any) -> None:
    found = ops.standardize(days, input_core_dims=[["time"]])
    expected = (days - days.mean("time")) / np.sqrt(days.var("time") + 1e-5)
    xr.testing.assert_allclose(found, expected)
    assert found.dims == days.dims and list(found.coords) == list(days.coords)
    xr.testing.assert_equal(ops.standardize(days[0]), ops.standardize(days, input_core_dims=[["place"]])[0])


def test_core_dimensions_have_the_names_that_are_declared(ops: Any, days: Any) -> None:
    points = days.rename(time="n", place="d").expand_dims(year=[1, 2])
    centers = points.isel(n=[0, 2]).rename(n="m").isel(year=0, drop=True)
    found = ops.squared_distances(points.transpose("d", "n", "year"), centers)
    expected = ((points - centers) ** 2).sum("d")
    xr.testing.assert_allclose(found.transpose(*expected.dims), expected)
    assert {"n", "m", "year"} <= set(found.coords)


def test_coordinates_follow_the_declaration(ops: Any, days: Any) -> None:
    assert set(ops.peak(days, dim="time").coords) == {"place", "height"}
    assert set(ops.peak(days, "place").coords) == {"time", "month", "height"}
    kept = ops.peak(days, dim="time", keepdim=True)
    assert kept.dims == days.dims and set(kept.coords) == {"place", "height"}
    moved = ops.moving_mean(days, 1, input_core_dims=[["time"]])
    assert set(moved.coords) == set(days.coords)
    turned = ops.backwards(days, input_core_dims=[["time"]])  # nothing declares where its elements come from
    assert turned.dims == days.dims and set(turned.coords) == {"place", "height"}
    assert np.array_equal(turned.values, days.values[::-1])


def test_several_results_and_new_dimensions(ops: Any, days: Any) -> None:
    low, high = ops.ends(days, "time")
    xr.testing.assert_equal(low, days.min("time"))
    xr.testing.assert_equal(high, days.max("time"))
    found = ops.repeated(days, 2, input_core_dims=[["place"]], new_dims=["copy"])
    assert found.dims == ("time", "place", "copy") and found.shape == (3, 4, 2)
    xr.testing.assert_equal(found.isel(copy=1).drop_vars("month"), days.drop_vars(("place", "month")))


def test_indexes_are_aligned(ops: Any, days: Any) -> None:
    later = days.assign_coords(time=[20, 30, 40])
    with pytest.raises(ValueError, match=r"labelled::haversine: cannot align objects with join='exact'.*'time'"):
        ops.haversine(days, later, 0.5, 0.5)
    found = ops.haversine(days, later, 0.5, 0.5, join="inner")
    assert found.time.values.tolist() == [20, 30]


def test_numbers_have_the_dtype_of_the_array(ops: Any, days: Any) -> None:
    assert ops.haversine(days.astype("float32"), 0.5, 0.25, np.float32(1)).dtype == np.float32


def test_attributes(ops: Any, days: Any) -> None:
    for keeps in (True, False):
        assert (ops.soft_threshold(days, keep_attrs=keeps).attrs == days.attrs) is keeps
        with xr.set_options(keep_attrs=keeps):
            assert (ops.soft_threshold(days).attrs == days.attrs) is keeps


def test_variables_of_a_dataset(ops: Any, days: Any) -> None:
    both = xr.Dataset({"rain": days, "snow": days.T * 2}, attrs={"from": "here"})
    found = ops.peak(both, dim="time")
    xr.testing.assert_equal(found["rain"], ops.peak(days, dim="time"))
    xr.testing.assert_equal(found["snow"], ops.peak(days, dim="time") * 2)
    low, high = ops.ends(both, "time")
    xr.testing.assert_equal(low["snow"], 2 * low["rain"])
    assert set(high.data_vars) == {"rain", "snow"}
    with pytest.raises(ValueError, match="names the dimension 'time'") as raised:
        ops.peak(both.assign(snow=days[0]), dim="time")
    assert raised.value.__notes__ == ["in the variable 'snow'"]
    with pytest.raises(ValueError, match="the Datasets have different variables"):
        ops.haversine(both, both[["rain"]], 1.0, 1.0)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "pointwise": lambda f, x: f.soft_threshold(x, limit=1.5),
    "reduced": lambda f, x: f.peak(x, dim="time"),
    "leading": lambda f, x: f.standardize(x, input_core_dims=[["time"]]),
    "windows": lambda f, x: f.moving_mean(x, 1, input_core_dims=[["place"]]),
    "product": lambda f, x: f.squared_distances(x, x.rename(time="other").drop_vars("month")),
    "several": lambda f, x: f.ends(x, "time")[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_dask_are_computed_later(ops: Any, days: Any, name: str) -> None:
    def computed(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the graph was computed")

    with dask.config.set(scheduler=computed):
        found = CALLS[name](ops, days.chunk({"time": 2, "place": 2}))
    assert found.chunks is not None
    xr.testing.assert_allclose(found.compute(), CALLS[name](ops, days))


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda f, x: f.peak(x, dim="week"), ValueError,
         "peak: argument 'dim' names the dimension 'week', and the dimensions of the array are 'time', 'place'"),
        (lambda f, x: f.peak(x, dim=5), IndexError, "labelled::peak: argument 'dim' is no dimension of an array"),
        (lambda f, x: f.standardize(x), ValueError,
         "standardize: argument 'self' has the dimensions 'time', 'place', and the operator works on 1 dimension"),
        (lambda f, x: f.squared_distances(x.expand_dims("k"), x), ValueError, "works on 2 dimensions (n, d): name"),
        (lambda f, x: f.standardize(x, input_core_dims=[["week"]]), ValueError,
         "labelled::standardize: argument 'self' has no dimension 'week', but the dimensions 'time', 'place'"),
        (lambda f, x: f.standardize(x, input_core_dims=[["time"], ["time"]]), ValueError, "has 2 lists, and 1 arrays"),
        (lambda f, x: f.peak(x, "time", input_core_dims=[["time"]]), ValueError, "takes no input_core_dims"),
        (lambda f, x: f.squared_distances(x, x), ValueError, "a result has the dimension 'time' twice: rename it"),
        (lambda f, x: f.repeated(x[0], 2), ValueError, "a result has a dimension that no argument has: name it"),
        (lambda f, x: f.haversine(x, np.ones(4), 1.0, 1.0), TypeError,
         "labelled::haversine: argument 'lon1' has no names of dimensions: give a DataArray"),
        (lambda f, x: f.soft_threshold(np.ones(4)), TypeError, "an argument that is a DataArray or a Dataset"),
        (lambda f, x: f.soft_threshold(x, limt=1), Exception, "limt"),
    ],
)  # fmt: skip
def test_errors(ops: Any, days: Any, call: Callable[[Any, Any], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as raised:
        call(ops, days)
    assert said in str(raised.value)
