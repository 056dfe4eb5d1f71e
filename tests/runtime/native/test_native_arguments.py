"""Arguments of every type as a C function gets them: it says what they are in its message."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_projects import QUICK, build

import opwright

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

SCHEMA = """
- func: argued::numbers(Tensor self, *, Scalar by=1, Scalar? limit=None, int? count=None, float? rate=None, bool? flag=None, int[2] size=[3, 4], float[] betas=[], bool[]? which=None, str mode="sum", str? name=None) -> Tensor
  meta: like(self)
  dispatch: {CPU: "native:numbers"}
  convention: elementwise
  dtypes: [bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64, complex64, complex128]
- func: argued::arrays(Tensor self, Tensor? bias=None, Tensor(a!)? seen=None) -> ()
  dispatch: {CPU: "native:arrays"}
  convention: strided
  dtypes: float64
  dtype_of: {seen: int64}
- func: argued::less(Tensor self, Scalar other) -> Tensor
  meta: pointwise(self, other, kind="bool")
  dispatch: {CPU: "native:less"}
  convention: elementwise
  dtypes: int64, float32, float64
  dtype_of: {out: bool}
- func: argued::largest(Tensor self) -> Tensor
  meta: reduce(self, 1, dtype=int64)
  dispatch: {CPU: "native:largest"}
  convention: contiguous
  dtypes: float64
  dtype_of: {out: int64}
"""  # fmt: skip  # noqa: E501
SOURCE = r"""
#include <complex.h>
#include <stdio.h>
#include "argued_kernels.h"

#define SHOWN(NAME, T, FORMAT, ...)                                                                                    \
    int NAME(int64_t n, const T *self, T by, const T *limit, const int64_t *count, const double *rate,                 \
             const int *flag, const int64_t *size, int64_t size_count, const double *betas, int64_t betas_count,       \
             const uint8_t *which, int64_t which_count, const char *mode, const char *name, T *out)                    \
    {                                                                                                                  \
        char text[256];                                                                                                \
        int64_t sizes = 0, chosen = 0;                                                                                 \
        double total = 0;                                                                                              \
        (void)n, (void)self, (void)out;                                                                                \
        for (int64_t i = 0; i < size_count; i++)                                                                       \
            sizes = sizes * 10 + size[i];                                                                              \
        for (int64_t i = 0; i < betas_count; i++)                                                                      \
            total += betas[i];                                                                                         \
        for (int64_t i = 0; i < which_count; i++)                                                                      \
            chosen += which[i];                                                                                        \
        snprintf(text, sizeof(text), FORMAT " limit=%d count=%lld rate=%g flag=%d size=%lld/%lld betas=%g/%lld "       \
                 "which=%lld/%lld mode=%s name=%s", __VA_ARGS__, limit ? *limit == by : -1,                            \
                 (long long)(count ? *count : -1), rate ? *rate : -1, flag ? *flag : -1, (long long)sizes,             \
                 (long long)size_count, total, (long long)betas_count, (long long)chosen,                              \
                 (long long)(which ? which_count : -1), mode, name ? name : "-");                                      \
        return argued_fail(text);                                                                                      \
    }

SHOWN(numbers_b8, uint8_t, "by=%d", by)
SHOWN(numbers_u8, uint8_t, "by=%d", by)
SHOWN(numbers_i8, int8_t, "by=%d", by)
SHOWN(numbers_u16, uint16_t, "by=%d", by)
SHOWN(numbers_i16, int16_t, "by=%d", by)
SHOWN(numbers_u32, uint32_t, "by=%lld", (long long)by)
SHOWN(numbers_i32, int32_t, "by=%d", by)
SHOWN(numbers_i64, int64_t, "by=%lld", (long long)by)
SHOWN(numbers_u64, uint64_t, "by=%llu", (unsigned long long)by)
SHOWN(numbers_f32, float, "by=%.9g", (double)by)
SHOWN(numbers_f64, double, "by=%.17g", by)
SHOWN(numbers_c64, float _Complex, "by=%g%+gj", (double)crealf(by), (double)cimagf(by))
SHOWN(numbers_c128, double _Complex, "by=%g%+gj", creal(by), cimag(by))

int arrays_f64(const double *self, int self_ndim, const int64_t *self_shape, const int64_t *self_strides,
               const double *bias, int bias_ndim, const int64_t *bias_shape, const int64_t *bias_strides,
               int64_t *seen, int seen_ndim, const int64_t *seen_shape, const int64_t *seen_strides)
{
    (void)self, (void)self_ndim, (void)self_shape, (void)self_strides, (void)bias_shape, (void)bias_strides;
    (void)seen_ndim, (void)seen_shape, (void)seen_strides;
    if (!seen)
        return bias ? 3 : bias_ndim + 7;
    *seen += bias ? (int64_t)*bias : 1;
    return 0;
}

int less_i64(int64_t n, const int64_t *self, int64_t other, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = self[i] < other;
    return 0;
}

int less_f32(int64_t n, const float *self, float other, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = self[i] < other;
    return 0;
}

int less_f64(int64_t n, const double *self, double other, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = self[i] < other;
    return 0;
}

int largest_f64(const double *self, int self_ndim, const int64_t *self_shape, int64_t *out, int out_ndim,
                const int64_t *out_shape)
{
    (void)out_ndim, (void)out_shape;
    if (self_ndim != 2)
        return 1;
    for (int64_t row = 0; row < self_shape[0]; row++, self += self_shape[1]) {
        out[row] = 0;
        for (int64_t i = 1; i < self_shape[1]; i++)
            if (self[i] > self[out[row]])
                out[row] = i;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("arguments")
    (folder / "ops.yaml").write_text(SCHEMA)
    (folder / "kernels.c").write_text(SOURCE)
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "argued_ops"\nnative = ["kernels.c"]\n'
    (folder / "pyproject.toml").write_text(settings)
    build(folder, CC=QUICK, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("argued_ops").ops
    sys.path.remove(str(folder))


def heard(ops: Any, array: Any, **named: Any) -> str:
    """Return what the function says of its arguments; of Tensors the same as of plain arrays."""
    said = []
    for given in (array, opwright.from_numpy(array)):
        with pytest.raises(RuntimeError) as raised:
            ops.numbers(given, **named)
        said.append(str(raised.value).split("\n")[0].removeprefix("argued::numbers: "))
    assert said[0] == said[1]
    return said[0]


def test_defaults(ops: Any) -> None:
    assert heard(ops, np.ones(2)) == (
        "by=1 limit=-1 count=-1 rate=-1 flag=-1 size=34/2 betas=0/0 which=0/-1 mode=sum name=-"
    )


def test_all_of_them(ops: Any) -> None:
    lists = {"size": (5, 6), "betas": [0.5, 1], "which": [True, False]}
    given = {"by": 2.5, "limit": 2.5, "count": 7, "rate": 0.25, "flag": True, **lists, "mode": "a", "name": "ä"}
    assert heard(ops, np.ones(2), **given) == (
        "by=2.5 limit=1 count=7 rate=0.25 flag=1 size=56/2 betas=1.5/2 which=1/2 mode=a name=ä"
    )
    long = heard(ops, np.ones(2), betas=[0.5] * 40, which=[True] * 30, size=9, flag=False, count=0, rate=0.0)
    assert long == "by=1 limit=-1 count=0 rate=0 flag=0 size=99/2 betas=20/40 which=30/30 mode=sum name=-"


@pytest.mark.parametrize(
    "dtype, by, said",
    [
        ("i8", -128, "-128"), ("i8", 127.0, "127"), ("i8", True, "1"), ("i8", 128, None), ("i8", 0.5, None),
        ("i8", 1j, None), ("i8", float("nan"), None), ("i8", float("inf"), None), ("i8", np.int16(5), "5"),
        ("i8", -(2**63), "-9223372036854775808"), ("u8", 2**64 - 1, "18446744073709551615"), ("u8", -1, None),
        ("f4", 0.1, "0.100000001"), ("f4", float("inf"), "inf"), ("f4", 1e39, None), ("f4", 3, "3"), ("f4", 1j, None),
        ("f8", 0.1, "0.10000000000000001"), ("f8", np.float32(0.5), "0.5"), ("f8", 10**400, None),
        ("c16", 2 - 1j, "2-1j"), ("c16", 3, "3+0j"), ("?", True, "1"), ("?", 0, "0"), ("?", 2, None),
        ("c8", 2 - 1j, "2-1j"), ("c8", float("inf"), "inf+0j"), ("c8", 1e39, None), ("c8", 1e39j, None),
    ],
)  # fmt: skip
def test_numbers_come_in_the_dtype_of_the_function(ops: Any, dtype: str, by: Any, said: str | None) -> None:
    """Exactly, or not at all."""
    own = "int8" if dtype == "i8" and (not isinstance(by, int) or abs(by) < 2**20) else dtype
    if said is None:
        assert_refused(ops, own, by)
    else:
        assert heard(ops, np.ones(2, own), by=by).startswith(f"by={said} ")


def assert_refused(ops: Any, dtype: str, by: Any) -> None:
    with pytest.raises(
        (RuntimeError, OverflowError, ValueError), match=r"'by' is .*, which \w+ does not hold|large|too"
    ):
        ops.numbers(np.ones(2, dtype), by=by)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
def test_integers_reach_the_bounds_of_their_dtype(ops: Any, dtype: str) -> None:
    bounds = np.iinfo(dtype)
    for by in (bounds.min, bounds.max):
        assert heard(ops, np.ones(2, dtype), by=int(by)).startswith(f"by={by} ")
    for by in (bounds.min - 1, bounds.max + 1):
        assert_refused(ops, dtype, by)


def test_texts_that_c_cannot_have(ops: Any) -> None:
    for text in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match="argued::numbers: 'mode' has a character that a text of C cannot have"):
            ops.numbers(np.ones(1), mode=text)


def test_arrays_that_may_be_missing(ops: Any) -> None:
    seen = np.zeros((), np.int64)
    x = np.ones((2, 3))
    for arguments, status in (((x,), 7), ((x, x.T), 3)):
        with pytest.raises(RuntimeError, match=f"the C kernel failed with status {status}"):
            ops.arrays(*arguments)
    ops.arrays(x, None, seen)
    ops.arrays(x.T, 4 * x[::-1], seen=seen)
    ops.arrays(*map(opwright.from_numpy, (x, 5 * x, seen)))
    assert seen == 10
    with pytest.raises(NotImplementedError, match="'seen' is int32, and its C kernel takes int64 there"):
        ops.arrays(x, None, seen.astype(np.int32))
    with pytest.raises(NotImplementedError, match="'self' is float64 and 'bias' float32"):
        ops.arrays(x, x.astype("f4"), seen)


def test_results_of_another_dtype(ops: Any) -> None:
    """Bools of numbers, indices of floats; of arrays as they are, and of those that Python prepares."""
    x = np.arange(12.0).reshape(3, 4)
    for array in (x, x.T, x[::2, ::-1], x.astype(int)):
        for given in (array, opwright.from_numpy(np.ascontiguousarray(array))):
            found = np.asarray(ops.less(given, 5))
            assert found.dtype == bool
            np.testing.assert_array_equal(found, array < 5)
    assert np.asarray(ops.less(np.arange(3), 1.5)).tolist() == [True, True, False]
    for array in (x, x[:, ::-1], x.T):
        found = ops.largest(array)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, array.argmax(1))
