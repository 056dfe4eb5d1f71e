"""A project with kernels for Numba and of a tvm-ffi module, one for each convention: the example with more."""

from __future__ import annotations

from pathlib import Path

from copying import copy_example

OPS = """
- func: elsewhere_demo::running_max(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: numba:more_numba.running_max}
  convention: contiguous
  dtypes: int64, float32

- func: elsewhere_demo::scale_(Tensor(a!) self, Scalar by, float[] added, bool twice, int n) -> Tensor(a!)
  dispatch: {CPU: numba:more_numba.scale}
  convention: strided
  dtypes: int64, float32, float64, complex128
  autogen: scale, scale.out

- func: elsewhere_demo::weighted(Tensor self, Tensor index, Scalar by) -> Tensor
  meta: like(self)
  dispatch: {CPU: numba:more_numba.weighted}
  convention: strided
  dtypes: float32, float64
  dtype_of: {index: int64}

- func: elsewhere_demo::picky(Tensor self, int status) -> Tensor
  meta: like(self)
  dispatch: {CPU: numba:more_numba.picky}
  convention: elementwise
  dtypes: float64

- func: elsewhere_demo::untyped(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: numba:more_numba.untyped}
  convention: elementwise
  dtypes: float64

- func: elsewhere_demo::missing(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: "tvm_ffi:lib/none.so::f"}
  convention: elementwise
  dtypes: float64

- func: elsewhere_demo::nameless(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: "tvm_ffi:more_tvm::nothing"}
  convention: elementwise
  dtypes: float64

- func: elsewhere_demo::told(Tensor self, Tensor? other, str word, bool flag, int n) -> Tensor
  meta: like(self)
  dispatch: {CPU: "tvm_ffi:more_tvm::told"}
  convention: strided
  dtypes: float32, int64

- func: elsewhere_demo::checked(Tensor(a!) self, *, float by, Scalar most, bool fails) -> ()
  dispatch: {CPU: "native:checked"}
  convention: contiguous
  dtypes: float64

- func: elsewhere_demo::checked_there(Tensor(a!) self, *, float by, Scalar most, bool fails) -> ()
  dispatch: {CPU: "tvm_ffi:native/_elsewhere_demo_tvm_ffi.abi3.so::checked"}
  convention: contiguous
  dtypes: float64

- func: elsewhere_demo::planted_numba(Tensor x) -> Tensor
  meta: pointwise(x, accepts="floating")
  dispatch: {CPU: numba:more_numba.planted}
  convention: elementwise
  dtypes: float64

- func: elsewhere_demo::planted_tvm(Tensor x) -> Tensor
  meta: pointwise(x, accepts="floating")
  dispatch: {CPU: "tvm_ffi:more_tvm::planted"}
  convention: strided
  dtypes: float64
"""
DERIVATIVES = """
- name: elsewhere_demo::planted_tvm(Tensor x) -> Tensor
  x: grad * 2
"""
NUMBA = """
import numba


@numba.njit(fastmath=False)
def running_max(x, x_ndim, x_shape, out, out_ndim, out_shape):
    rows, last = 1, x_shape[x_ndim - 1]
    for dim in range(x_ndim - 1):
        rows *= x_shape[dim]
    for row in range(rows):
        most = x[row * last]
        for i in range(row * last, (row + 1) * last):
            most = max(most, x[i])
            out[i] = most


def scale(x, ndim, shape, strides, by, added, added_count, twice, n):
    total = 0.0
    for i in range(added_count):
        total += added[i]
    count = 1
    for dim in range(ndim):
        count *= shape[dim]
    for i in range(count):
        at, rest = 0, i
        for dim in range(ndim - 1, -1, -1):
            at += rest % shape[dim] * strides[dim]
            rest //= shape[dim]
        x[at] = x[at] * by * (2 if twice else 1) + n + int(total)


def weighted(x, ndim, shape, strides, index, index_ndim, index_shape, index_strides, by, out, a, b, out_strides):
    for i in range(shape[0]):
        out[i * out_strides[0]] = x[i * strides[0]] * index[i * index_strides[0]] * by


def picky(n, x, status, out):
    if status == 1:
        raise ValueError("never seen")
    return status


def untyped(n, x, out):
    out[0] = x[0].upper()


def planted(n, x, out):  # writes x, and reads behind its end
    for i in range(n):
        out[i] = x[i] + 0 * x[i + 1]
        x[i] = 0
"""
TVM = """
import numpy as np
import tvm_ffi


def told(x, other, word, flag, n, out):
    if n < 0:
        raise ValueError("n is negative")
    more = 0 if other is None else np.from_dlpack(other)
    np.asarray(np.from_dlpack(out))[...] = np.from_dlpack(x) + more + len(word) * (2 if flag else 1) + n


def planted(x, out):  # takes elements as they lie
    x = np.from_dlpack(x)
    np.asarray(np.from_dlpack(out))[...] = np.ravel(x, "K").reshape(x.shape) * 3


for each in (told, planted):
    tvm_ffi.register_global_func(f"more_tvm.{each.__name__}", each)
    del globals()[each.__name__]
"""
C = """
#include "elsewhere_demo_kernels.h"

int checked_f64(double *self, int ndim, const int64_t *shape, double by, double most, int fails)
{
    int64_t n = 1;
    for (int dim = 0; dim < ndim; dim++)
        n *= shape[dim];
    for (int64_t i = 0; i < n; i++)
        self[i] = self[i] * by > most ? most : self[i] * by;
    return fails ? elsewhere_demo_fail("as it was told") : 0;
}
"""


def make_project(folder: Path, bindings: str) -> Path:
    """Write the project; `bindings` are texts in quotes, with commas between them."""
    copy_example("elsewhere", folder)
    with (folder / "ops.yaml").open("a") as file:
        file.write(OPS)
    with (folder / "derivatives.yaml").open("a") as file:
        file.write(DERIVATIVES)
    (folder / "more_numba.py").write_text(NUMBA)
    (folder / "more_tvm.py").write_text(TVM)
    (folder / "csrc" / "checked.c").write_text(C)
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace('["tvm_ffi"]', f"[{bindings}]"))
    return folder
