"""Generalized ufuncs of operators on core dimensions: values of the operator; broadcasting, axes and `out` of NumPy."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from native_projects import QUICK, build

import opwright

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or opwright.dispatch.core().name == "python", reason="there is no C compiler, or no core"
)
SCHEMA = """
- func: cores::distances(Tensor a, Tensor b) -> Tensor
  doc: Return the squared distance of each row of a to each row of b.
  meta: gufunc("(n,d),(m,d)->(n,m)", a, b, accepts="floating")
  dispatch:
    CPU: native:distances
  convention: contiguous
  dtypes: float32, float64

- func: cores::product(Tensor a, Tensor b, *, float scale=1.0) -> Tensor
  meta: gufunc("(m?,n),(n,p?)->(m?,p?)", a, b)
  dispatch:
    CPU: xp.matmul(a, b) * scale

- func: cores::longest(Tensor a) -> Tensor
  meta: gufunc("(n,3)->()", a, dtype=int64, batched=False)
  dispatch:
    CPU: xp.square(a).sum(-1).argmax()

- func: cores::refused(Tensor a) -> Tensor
  meta: gufunc("(n)->(n+1)", a)
  dispatch:
    CPU: xp.concatenate([a, a[..., :1]], -1)

- func: cores::scaled(Tensor a, float by) -> Tensor
  meta: gufunc("(n)->(n)", a)
  dispatch:
    CPU: a * by
"""
SOURCE = """
#include "cores_kernels.h"
#define DISTANCES(NAME, T) \\
    int NAME(const T *a, int a_ndim, const int64_t *a_shape, const T *b, int b_ndim, const int64_t *b_shape, T *out, \\
             int out_ndim, const int64_t *out_shape) \\
    { \\
        int64_t count = 1; \\
        const int64_t n = a_shape[a_ndim - 2], d = a_shape[a_ndim - 1], m = b_shape[b_ndim - 2]; \\
        for (int i = 0; i < out_ndim - 2; i++) \\
            count *= out_shape[i]; \\
        if (a_ndim != b_ndim) \\
            return cores_fail("distances takes batches of one shape"); \\
        for (int64_t at = 0; at < count; at++, a += n * d, b += m * d) \\
            for (int64_t i = 0; i < n; i++) \\
                for (int64_t j = 0; j < m; j++, out++) { \\
                    *out = 0; \\
                    for (int64_t k = 0; k < d; k++) \\
                        *out += (a[i * d + k] - b[j * d + k]) * (a[i * d + k] - b[j * d + k]); \\
                    if (*out > 1000) \\
                        return cores_fail("too far"); \\
                } \\
        return 0; \\
    }
DISTANCES(distances_f32, float)
DISTANCES(distances_f64, double)
"""
RANDOM = seeds.numpy_generator(0)


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("cores")
    (folder / "ops.yaml").write_text(SCHEMA)
    (folder / "kernels.c").write_text(SOURCE)
    (folder / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "cores_ops"\nnative = ["kernels.c"]\n'
    )
    build(folder, CC=QUICK, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("cores_ops")
    sys.path.remove(str(folder))


def packet(name: str) -> Any:
    return getattr(opwright.ops.cores, name)


def drawn(letter: str, *shape: int) -> np.ndarray:
    made: np.ndarray = RANDOM.uniform(-1, 1, shape).astype(letter)
    return made


def test_it_is_one_ufunc_with_a_signature_and_loops() -> None:
    ufunc = packet("distances").ufunc
    assert type(ufunc) is np.ufunc
    assert packet("distances").default.ufunc is ufunc
    assert (ufunc.signature, ufunc.types) == ("(n,d),(m,d)->(n,m)", ["ff->f", "dd->d"])
    assert ufunc.__name__ == "distances" and "squared distance" in ufunc.__doc__
    assert packet("longest").ufunc.types[-1] == "D->l"


def test_values_are_the_operators_for_all_layouts_and_batches() -> None:
    ufunc, operator = packet("distances").ufunc, packet("distances")
    for letter, first, second in itertools.product("fd", [(), (4,), (2, 1), (0,)], [(), (1,), (2, 4)]):
        if (first, second) in (((0,), (2, 4)),):
            continue
        a, b = drawn(letter, *first, 3, 2), drawn(letter, *second, 5, 2)
        shape = np.broadcast_shapes(first, second)
        wide = [np.ascontiguousarray(np.broadcast_to(x, (*shape, *x.shape[-2:]))) for x in (a, b)]
        expected = operator(*wide)
        for one, other in (
            (a, b),
            (np.asfortranarray(a), b[..., ::-1, :][..., ::-1, :]),
            (a, np.repeat(b, 2, -1)[..., ::2]),
        ):
            found = ufunc(one, other)
            assert np.array_equal(found, expected) and found.dtype == expected.dtype, (letter, first, second)


def test_axes_out_and_casting_are_numpys() -> None:
    ufunc = packet("distances").ufunc
    a, b = drawn("d", 4, 3, 2), drawn("d", 5, 2)
    expected = ufunc(a, b)
    moved = ufunc(np.moveaxis(a, 0, -1), b.T, axes=[(0, 1), (1, 0), (0, 1)])
    assert np.array_equal(moved, np.moveaxis(expected, 0, -1))
    out = np.zeros((5, 3, 4)).T
    assert ufunc(a, b, out=out) is out and np.array_equal(out, expected)
    assert ufunc(a.astype("f"), b).dtype == np.float64
    assert np.array_equal(ufunc(a.round().astype(int), b), ufunc(a.round(), b))
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        ufunc(a, b[:, :1])
    with pytest.raises(TypeError, match="cast"):
        ufunc(a + 1j, b)


def test_keepdims_and_missing_dimensions() -> None:
    product, longest = packet("product").ufunc, packet("longest").ufunc
    for a, b in (
        (drawn("d", 2, 3), drawn("d", 3, 4)),
        (drawn("d", 3), drawn("d", 3, 4)),
        (drawn("d", 3), drawn("d", 3)),
    ):
        assert np.allclose(product(a, b), a @ b)
        assert product(a, b).shape == (a @ b).shape
    rows = drawn("d", 5, 4, 3)
    each = np.array([packet("longest")(one) for one in rows])
    assert np.array_equal(longest(rows), each)
    assert np.array_equal(longest(rows[:0]), each[:0])
    with pytest.raises(RuntimeError, match="signature"):
        longest.reduce(rows)


def test_errors_of_a_kernel_are_raised() -> None:
    with pytest.raises(RuntimeError, match="too far"):
        packet("distances").ufunc(np.full((2, 3, 2), 100.0), np.zeros((3, 2)))
    assert packet("distances").ufunc(np.ones((1, 2)), np.ones((1, 2))) == 0


def test_why_there_is_none() -> None:
    for name, why in (
        ("refused", r"NumPy's signatures have no '\(n\)->\(n\+1\)'"),
        ("scaled", "number that has no default"),
    ):
        with pytest.raises(AttributeError, match=f"cores::{name} has no ufunc: .*{why}"):
            _ = packet(name).ufunc


def test_xarray_and_dask_take_them() -> None:
    xarray, array = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    ufunc, a, b = packet("distances").ufunc, drawn("d", 4, 3, 2), drawn("d", 5, 2)
    expected = ufunc(a, b)
    lazy = array.apply_gufunc(ufunc, ufunc.signature, array.from_array(a, chunks=(1, 3, 2)), b, output_dtypes="f8")
    assert np.array_equal(lazy.compute(), expected)
    places = xarray.DataArray(a, dims=("day", "row", "x"), coords={"day": [1, 2, 3, 4]})
    found = xarray.apply_ufunc(
        ufunc, places, xarray.DataArray(b, dims=("other", "x")),
        input_core_dims=[("row", "x"), ("other", "x")], output_core_dims=[("row", "other")],
    )  # fmt: skip
    assert np.array_equal(found.values, expected) and found.day.values.tolist() == [1, 2, 3, 4]
