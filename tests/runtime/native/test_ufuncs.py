"""Ufuncs of expressions: values of the operator, NumPy's own identities, and the libraries that take ufuncs."""

from __future__ import annotations

import contextlib
import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import seeds
from native_projects import QUICK, build

import opwright

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("axpy", "fused", "swish", "huber", "within", "bucket", "soft_threshold", "haversine", "whole_power", "product")
OWN = """
- func: {namespace}::whole_power(Tensor self, Tensor other) -> Tensor
  kernel: self ** other
  dtypes: int8, int64, float32

- func: {namespace}::product(Tensor self, Tensor other) -> Tensor
  kernel: self * other
  dtypes: bool, uint8, int32, uint64, float16, bfloat16, float32, float64, complex64, complex128

- func: {namespace}::shifted(Tensor self, float by) -> Tensor
  kernel: self + 2 * by

- func: {namespace}::plain(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CPU: self + 1
"""


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The expressions of the examples, and some more, in one package, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("ufuncs")
    entries = (EXAMPLES / "expressions" / "ops.yaml").read_text().replace("expression_demo::", "ufuncs::")
    everywhere = (EXAMPLES / "everywhere" / "ops.yaml").read_text().replace("everywhere::", "ufuncs::")
    entries += "".join(f"\n- func:{each}" for each in everywhere.split("- func:") if "kernel:" in each)
    (folder / "ops.yaml").write_text(entries + OWN.format(namespace="ufuncs"))
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "ufuncs_ops"\n')
    build(folder, CC=QUICK, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("ufuncs_ops")
    sys.path.remove(str(folder))


def packet(name: str) -> Any:
    return getattr(opwright.ops.ufuncs, name)


def drawn(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of a dtype, small enough that integers do not wrap where they are folded."""
    random = seeds.numpy_generator(seed)
    if np.dtype(dtype).kind in "fc":
        return random.uniform(0.1, 0.9, shape).astype(dtype)
    return random.integers(0, 3, shape).astype(dtype)


def cases() -> Iterator[tuple[str, str]]:
    for name in NAMES:
        for types in packet(name).ufunc.types:
            yield name, types[0]


def operands(name: str, letter: str) -> list[np.ndarray]:
    """Arrays of three shapes that broadcast, one of them with gaps and backwards."""
    shapes = [(4, 5), (5,), (4, 1), (1, 5)]
    arrays = [drawn(letter, *shape, seed=at) + (1 if letter in "bBhilqQ" else 0) for at, shape in enumerate(shapes)]
    arrays[0] = np.repeat(arrays[0], 2, axis=1)[:, ::2][::-1]
    return [each.astype(letter) for each in arrays[: packet(name).ufunc.nin]]


def by_operator(name: str, *arrays: Any) -> Any:
    """Return what the operator gives; the number of `bucket` is an operand of its ufunc."""
    if name == "bucket":
        return np.reshape([packet(name)(x, int(n)) for x, n in np.nditer(np.broadcast_arrays(*arrays)[0:2])], -1)
    return packet(name)(*arrays)


def test_all_expressions_of_the_examples_are_drawn() -> None:
    texts = [path.read_text() for path in EXAMPLES.rglob("*.yaml")]
    entries = [entry for text in texts for entry in text.split("\n- func:") if "\n  kernel:" in entry]
    assert {*NAMES} >= {re.search(r"::(\w+)", entry)[1] for entry in entries}  # type: ignore[index]
    assert len(entries) >= 8


def test_they_are_ufuncs_of_numpy() -> None:
    for name in NAMES:
        ufunc = packet(name).ufunc
        assert isinstance(ufunc, np.ufunc)
        assert ufunc.__name__ == name
        assert ufunc is packet(name).ufunc is packet(name).default.ufunc
    assert "Return self moved towards 0" in packet("soft_threshold").ufunc.__doc__
    assert (packet("axpy").ufunc.nin, packet("fused").ufunc.nin, packet("bucket").ufunc.nin) == (2, 4, 2)


def test_values_are_the_operators() -> None:
    for name, letter in cases():
        arrays = operands(name, letter)
        found = packet(name).ufunc(*arrays)
        expected = by_operator(name, *arrays)
        assert found.dtype == (np.asarray(expected).dtype if name != "bucket" else arrays[0].dtype), (name, letter)
        assert np.array_equal(found.ravel(), np.ravel(expected)), (name, letter)


def test_bfloat16_has_loops() -> None:
    x = drawn("f4", 9).astype(ml_dtypes.bfloat16)
    for name in ("swish", "product", "within"):
        arrays = [x] * packet(name).ufunc.nin
        found = packet(name).ufunc(*arrays)
        assert found.dtype == packet(name)(*arrays).dtype
        assert np.array_equal(found, packet(name)(*arrays))


def test_where_and_out() -> None:
    for name, letter in cases():
        ufunc, arrays = packet(name).ufunc, operands(name, letter)
        whole = ufunc(*arrays)
        chosen = drawn("i8", *whole.shape, seed=9) > 0
        out = np.zeros((whole.shape[1], whole.shape[0]), whole.dtype).T
        assert ufunc(*arrays, out=out, where=chosen) is out
        assert np.array_equal(out, np.where(chosen, whole, np.zeros_like(whole)))


def test_results_may_lie_in_operands() -> None:
    for name, letter in cases():
        ufunc = packet(name).ufunc
        memory = np.concatenate([each.ravel() for each in operands(name, letter)])
        count = len(memory) - 1
        expected = ufunc(*[memory[:count].copy()] * ufunc.nin)
        if expected.dtype != memory.dtype:
            continue
        for place in (slice(0, count), slice(1, count + 1), slice(count - 1, None, -1)):
            whole = memory.copy()
            ufunc(*[whole[:count]] * ufunc.nin, out=whole[place])
            assert np.array_equal(whole[place], expected), (name, letter, place)


def folded(ufunc: np.ufunc, arrays: np.ndarray) -> list[np.ndarray]:
    """The results of folding along the first dimension, one after the other."""
    found = [arrays[0]]
    for each in arrays[1:]:
        found.append(ufunc(found[-1], each))
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reduce_accumulate_and_outer_are_numpys_folds() -> None:
    done = 0
    for name, letter in cases():
        ufunc = packet(name).ufunc
        if ufunc.nin != 2 or f"{letter}{letter}->{letter}" not in ufunc.types:
            continue
        x, y = drawn(letter, 7, 6, seed=3), drawn(letter, 3, seed=4)
        if name == "bucket":
            x, y = np.abs(x) + 1, np.abs(y) + 1
        for axis in (0, 1):
            steps = folded(ufunc, np.moveaxis(x, axis, 0))
            assert np.array_equal(ufunc.reduce(x, axis=axis, dtype=letter), steps[-1]), (name, letter, axis)
            summed = np.moveaxis(ufunc.accumulate(x, axis=axis, dtype=letter), axis, 0)
            assert np.array_equal(summed, np.stack(steps)), (name, letter, axis)
        parts = ufunc.reduceat(x, [0, 3, 4], dtype=letter)
        ends = [folded(ufunc, x[start:end])[-1] for start, end in ((0, 3), (3, 4), (4, 7))]
        assert np.array_equal(parts, np.stack(ends)), (name, letter)
        assert np.array_equal(ufunc.outer(x[0], y), ufunc(x[0][:, None], y)), (name, letter)
        target = x[0].copy()
        ufunc.at(target, [1, 1, 4], y)
        expected = x[0].copy()
        for place, value in zip((1, 1, 4), y, strict=True):
            expected[place] = ufunc(expected[place], value)
        assert np.array_equal(target, expected), (name, letter)
        done += 1
    assert done > 15


def test_a_product_folds_as_numpys() -> None:
    ufunc = packet("product").ufunc
    x = drawn("f8", 40)
    assert np.array_equal(ufunc.accumulate(x), np.multiply.accumulate(x))
    assert ufunc.reduce(x) == np.multiply.accumulate(x)[-1]
    assert np.array_equal(ufunc.outer(x, x), np.multiply.outer(x, x))


def test_casting_is_numpys() -> None:
    ufunc = packet("swish").ufunc
    assert ufunc(np.arange(3)).dtype == np.float64
    assert ufunc(np.arange(3), dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="casting"):
        ufunc(np.arange(3), casting="no")
    assert packet("axpy").ufunc(np.float32(1), 2.5).dtype == np.float32


def test_numbers_have_their_defaults_or_are_operands() -> None:
    x = np.array([-5, 0, 7, 123456])
    assert np.array_equal(packet("bucket").ufunc(x, 8), packet("bucket")(x, 8))
    assert packet("bucket").ufunc(x, [8, 8, 4, 16]).tolist() == [
        int(packet("bucket")(x, n)[i]) for i, n in enumerate((8, 8, 4, 16))
    ]
    assert np.array_equal(packet("huber").ufunc(x / 4, x), packet("huber")(x / 4, x, delta=1.0))
    with pytest.raises(
        AttributeError, match=r"ufuncs::shifted has no ufunc: it computes with a number that has no def"
    ):
        packet("shifted").ufunc  # noqa: B018


def test_operators_without_loops_have_none() -> None:
    for found in (packet("plain"), opwright.ops.aten.add):
        assert not hasattr(found, "ufunc")
    with pytest.raises(
        AttributeError, match=r"ufuncs::plain has no ufunc: it is neither an expression with loops in C"
    ):
        packet("plain").ufunc  # noqa: B018


def test_what_a_loop_refuses_is_numpys_error() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        packet("whole_power").ufunc(np.array([2, 3]), np.array([1, -1]))


def test_no_flag_of_the_processor_is_left() -> None:
    with np.errstate(all="raise"):
        assert packet("swish").ufunc(np.array([-1e308, 1e308])).tolist() == [0.0, 1e308]


def test_xarray_and_pandas_take_them() -> None:
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    ufunc = packet("axpy").ufunc
    x = xarray.DataArray(drawn("f8", 2, 3), dims=("a", "b"), coords={"a": [1, 2]})
    assert np.array_equal(ufunc(x, x[0].drop_vars("a")).values, ufunc(x.values, x.values[0]))
    assert np.array_equal(xarray.apply_ufunc(ufunc, x, x).values, ufunc(x.values, x.values))
    series = pandas.Series([1.0, 2.0], index=["p", "q"])
    pandas.testing.assert_series_equal(ufunc(series, series[::-1]), series * 2)


def test_dask_takes_them() -> None:
    array = pytest.importorskip("dask.array")
    values = drawn("f8", 8, 6)
    x = array.from_array(values, chunks=3)
    found = packet("axpy").ufunc(x, x)
    assert isinstance(found, array.Array)
    assert np.array_equal(found.compute(scheduler="threads"), values + values)


def test_without_a_library_there_is_none(tmp_path: Path) -> None:
    from opwright_codegen.cli import main

    (tmp_path / "ops.yaml").write_text("- func: unbuilt::f(Tensor x) -> Tensor\n  kernel: x + 1\n")
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "unbuilt_ops"\n')
    with contextlib.chdir(tmp_path):
        assert main(["generate"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        importlib.import_module("unbuilt_ops")
        with pytest.raises(AttributeError, match=r"unbuilt::f has no ufunc: its library has not been built"):
            opwright.ops.unbuilt.f.ufunc  # noqa: B018
