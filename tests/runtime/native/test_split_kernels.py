"""Expressions and kernels of the convention `parallel` over the threads of the pool: the same bits for any number."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds
from native_projects import build

import opwright
from opwright_core.core import fast

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
SCHEMA = """
- func: split_demo::fused(Tensor a, Tensor b, *, Scalar scale=2) -> Tensor
  kernel: maximum((a - b) * scale, 0) + a
  dtypes: float16, bfloat16, float32, float64, int32
  autogen: fused.out

- func: split_demo::powers(Tensor a, Tensor b) -> Tensor
  kernel: power(a, b)
  dtypes: float64, int64

- func: split_demo::twice(Tensor x, Scalar? by=None, str word="") -> Tensor
  meta: pointwise(x)
  dispatch: {CPU: native:twice}
  convention: parallel
  dtypes: float32, float64

- func: split_demo::sums(Tensor x, float[] weights) -> Tensor
  meta: reduce(x, 1)
  dispatch: {CPU: native:sums}
  convention: parallel contiguous
  dtypes: float64

- func: split_demo::scale_(Tensor(a!) self, Tensor? by=None) -> Tensor(a!)
  dispatch: {CPU: native:scale}
  convention: parallel strided
  dtypes: float64
"""
SOURCE = """#include "split_demo_kernels.h"

int twice_f32(int64_t begin, int64_t end, const float *x, const float *by, const char *word, float *out)
{
    for (int64_t i = begin; i < end; i++)
        out[i] = x[i] * (by ? *by : 2);
    return *word && end > 40000 ? split_demo_fail(word) : 0;
}

int twice_f64(int64_t begin, int64_t end, const double *x, const double *by, const char *word, double *out)
{
    for (int64_t i = begin; i < end; i++)
        out[i] = x[i] * (by ? *by : 2);
    return *word ? 17 : 0;
}

int sums_f64(int64_t begin, int64_t end, const double *x, int x_ndim, const int64_t *x_shape, const double *weights,
             int64_t weights_count, double *out, int out_ndim, const int64_t *out_shape)
{
    (void)out_ndim, (void)out_shape;
    if (x_ndim != 2 || weights_count != x_shape[1])
        return split_demo_fail("a weight for each column, please");
    for (int64_t row = begin; row < end; row++) {
        out[row] = 0;
        for (int64_t i = 0; i < weights_count; i++)
            out[row] += x[row * weights_count + i] * weights[i];
    }
    return 0;
}

int scale_f64(int64_t begin, int64_t end, double *self, int self_ndim, const int64_t *self_shape,
              const int64_t *self_strides, const double *by, int by_ndim, const int64_t *by_shape,
              const int64_t *by_strides)
{
    (void)by_ndim, (void)by_shape, (void)by_strides;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < (self_ndim == 2 ? self_shape[1] : 1); j++)
            self[i * (self_ndim ? self_strides[0] : 0) + j * (self_ndim == 2 ? self_strides[1] : 0)] *= by ? *by : 3;
    return 0;
}
"""
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "split_demo"\nnative = ["kernels.c"]\n'
X = seeds.numpy_generator(3).normal(size=(1001, 130))


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("split")
    for name, text in (("ops.yaml", SCHEMA), ("kernels.c", SOURCE), ("pyproject.toml", SETTINGS)):
        (folder / name).write_text(text)
    build(folder, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    before = opwright.get_num_threads()
    yield importlib.import_module("split_demo").ops
    opwright.set_num_threads(before)
    sys.path.remove(str(folder))


def same_bits(call: Callable[[], Any]) -> Any:
    """Return what a call gives with one, two and three threads, which is the same, and was split where a pool is."""
    found = []
    for threads in (1, 2, 3):
        opwright.set_num_threads(threads)
        before = 0 if fast is None else fast.count_splits()
        found.append(np.asarray(call()))
        assert fast is None or (fast.count_splits() > before) == (threads > 1)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    return found[0]


def test_expressions(ops: Any) -> None:
    """Dense, broadcast and with gaps; of half, of bool results and of few long rows."""
    out = np.empty((130, 1001)).T
    for dtype in ("float16", "float32", "float64", "int32"):
        x = (X * 9).astype(dtype)
        wanted = np.maximum((x - x[:1]) * np.dtype(dtype).type(2), 0) + x
        assert np.allclose(same_bits(lambda x=x: ops.fused(x, x[:1])), wanted, rtol=2e-3)
        same_bits(lambda x=x: ops.fused(x, x))
        same_bits(lambda x=x: ops.fused(x[:, ::-1], x))
    assert np.allclose(same_bits(lambda: ops.fused(X, X[0], out=out)), np.maximum((X - X[0]) * 2, 0) + X)
    wide = X.reshape(2, -1)[:, ::2]
    assert np.allclose(same_bits(lambda: ops.fused(wide, wide * 2)), np.maximum(-wide * 2, 0) + wide)
    same_bits(
        lambda: opwright.ops.split_demo.fused(opwright.from_numpy(X).to(opwright.bfloat16), 0.5 * opwright.ones(130))
    )


def test_an_element_that_is_refused_anywhere_is_refused(ops: Any) -> None:
    """NumPy's error, whichever thread meets it."""
    ones = np.ones(100_000, np.int64)
    for at in (0, 50_000, 99_999):
        powers = ones.copy()
        powers[at] = -1
        opwright.set_num_threads(3)
        with pytest.raises(ValueError, match="negative integer powers"):
            ops.powers(ones, powers)


def test_kernels_on_ranges(ops: Any) -> None:
    for dtype in ("float32", "float64"):
        x = X.astype(dtype)
        assert np.array_equal(same_bits(lambda x=x: ops.twice(x)), x * 2)
        assert np.array_equal(same_bits(lambda x=x: ops.twice(x.T, 3)), x.T * 3)
    weights = list(range(130))
    assert np.allclose(same_bits(lambda: ops.sums(X, weights)), X @ weights)
    assert np.array_equal(same_bits(lambda: ops.scale_(X.T.copy().T)), X * 3)
    assert np.array_equal(same_bits(lambda: ops.scale_(X.repeat(2, 1)[:, ::2], np.array(5.0))), X * 5)


def test_small_and_empty_ones(ops: Any) -> None:
    opwright.set_num_threads(3)
    assert ops.twice(np.float64(2) + np.zeros(())) == 4 and ops.twice(np.ones((0, 3))).shape == (0, 3)
    assert ops.sums(np.ones((0, 2)), [1.0, 2.0]).shape == (0,)
    assert ops.scale_(np.array(2.0)) == 6 and ops.scale_(np.ones((2, 0))).shape == (2, 0)


def test_errors_of_any_thread_are_the_calls(ops: Any) -> None:
    opwright.set_num_threads(3)
    for _ in range(5):
        with pytest.raises(RuntimeError, match="twice: too long"):
            ops.twice(X.astype("f4"), word="too long")
    with pytest.raises(RuntimeError, match="status 17"):
        ops.twice(X, word="any")
    with pytest.raises(RuntimeError, match="a weight for each column"):
        ops.sums(X, [1.0])
    assert np.array_equal(ops.twice(X), X * 2)
