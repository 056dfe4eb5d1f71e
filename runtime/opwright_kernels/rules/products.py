"""Operators on the last dimensions: products of matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim, Matrices
from opwright_core.arrays.dtypes import FLOATING, INEXACT, DType, as_dtype, float32, float64, int64, opmath
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds
from opwright_core.errors import DispatchError
from opwright_core.plans.operands import check_accepted, check_number
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.gufuncs import gufunc
from opwright_core.rules.pointwise import pointwise

_added = SpecCache()


def added_product(signature: str, self: Any, first: Any, second: Any, beta: complex, alpha: complex) -> Plan:
    """Plan a product, as `gufunc` has it, plus `self`, which broadcasts to it. A dimension named in both factors and
    not in the result is summed over.

    Raises RuntimeError where shapes or dtypes do not fit.
    """
    key = (signature, self.shape, self.dtype, first.shape, first.dtype, second.shape, second.dtype)
    spec = _added.get(key)
    if spec is None:
        product = gufunc(signature, first, second, accepts="integer floating complex", batched=False).spec
        if self.dtype != first.dtype:
            raise RuntimeError(f"expected operands of one dtype, but got: {self.dtype} != {first.dtype}")
        _check_expands(self.shape, product.shape)
        casts = (product.compute is not product.dtype,) * 3
        spec = TensorSpec(product.shape, product.strides, product.dtype, product.common, product.compute, None, casts)
        _added.keep(key, spec)
    for number in (beta, alpha):
        check_number(_cut(number, spec.dtype), spec.dtype)
    return Plan(spec, (self, first, second))


def _cut(number: complex, dtype: DType) -> complex:
    """Return a number without what is behind its point, for integers; other dtypes take it as it is."""
    is_cut = dtype.kind in "iu" and isinstance(number, float) and math.isfinite(number)
    return math.trunc(number) if is_cut else number  # type: ignore[arg-type]  # it is a float


def _check_scales(dtype: DType, beta: complex, alpha: complex) -> None:
    if dtype.kind in "iu" and not (isinstance(beta, int) and isinstance(alpha, int)):
        raise RuntimeError("For integral input tensors, arguments alpha and beta must not be floating point numbers.")
    for number in (beta, alpha):
        check_number(number, dtype)


def _check_expands(shape: Shape, wanted: Shape) -> None:
    if len(shape) > len(wanted) or not all(
        guard_or_false(size == 1) or holds(size == want)
        for size, want in zip(reversed(shape), reversed(wanted), strict=False)
    ):
        raise RuntimeError(f"The expanded size of the tensor {list(wanted)} must match the existing size {list(shape)}")


class _Operand(NamedTuple):
    """The part of an array that is not there which a rule reads."""

    shape: Shape
    strides: Shape  # in bytes, as arrays have them
    dtype: DType
    ndim: int = 2


def added_outer(self: Any, vec1: Any, vec2: Any, beta: complex, alpha: complex) -> Plan:
    """Plan `self` plus the products of all pairs of two vectors' elements: promoted and laid out as pointwise results
    are. Raises RuntimeError for operands that are no vectors, or a `self` that does not fit."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    shape = (vec1.shape[0], vec2.shape[0])
    _check_expands(self.shape, shape)
    missing = 2 - self.ndim
    strides = (0,) * missing + tuple(
        0 if guard_or_false(size == 1) and guard_or_true(want != 1) else stride
        for size, stride, want in zip(self.shape, self.strides, shape[missing:], strict=True)
    )
    column = _Operand((shape[0], 1), (vec1.strides[0], 0), vec1.dtype)
    row = _Operand((1, shape[1]), (0, vec2.strides[0]), vec2.dtype)
    spec = pointwise(_Operand(shape, strides, self.dtype), column, row, kind="no_opmath").spec
    casts = tuple(operand.dtype is not spec.compute for operand in (self, vec1, vec2))
    _check_scales(spec.dtype, beta, alpha)
    own = TensorSpec(spec.shape, spec.strides, spec.dtype, spec.common, spec.compute, spec.produces, casts)
    return Plan(own, (self, vec1, vec2))


def cross(self: Along, other: Along, dim: Dim) -> Plan:
    """Plan the vector product along `dim`; the other dimensions broadcast, and the result is contiguous.

    Raises RuntimeError where shapes or dtypes do not fit, IndexError for a dimension out of range.
    """
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = layouts.wrap_dim(dim, self.ndim)
    sizes = (self.shape[axis], other.shape[axis])
    if not (holds(sizes[0] == 3) and holds(sizes[1] == 3)):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected operands of one dtype, but got: {self.dtype} != {other.dtype}")
    shape = layouts.broadcast_shapes([self.shape, other.shape])
    dtype = as_dtype(self.dtype)
    check_accepted("integer floating complex", dtype)
    spec = TensorSpec(shape, layouts.contiguous_strides(shape), dtype)
    return PlanApart(spec, (self, other), apart=(self, other))


def trace(self: Any) -> Plan:
    """Plan the sum of a matrix's diagonal: 0-dim, int64 for integers. Raises RuntimeError for what is no matrix."""
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    given = as_dtype(self.dtype)
    check_accepted("integer floating complex", given)
    common = given if given in INEXACT else int64
    compute = opmath(common)
    return Plan(TensorSpec((), (), common, common, compute, None, (given is not compute,)), (self,))


def distances(x1: Matrices, x2: Matrices, p: float) -> Plan:
    """Plan the distances of each row of `x1` to each row of `x2`: the batches broadcast, the result is contiguous.
    Raises RuntimeError for a `p` that is negative or NaN, and for dtypes or shapes that do not fit."""
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    for name, each in (("X1", x1), ("X2", x2)):
        dtype = as_dtype(each.dtype)
        if dtype not in FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {dtype}")
    common = as_dtype(x1.dtype)
    if x2.dtype != common:
        raise RuntimeError(f"expected operands of one dtype, but got: {common} != {x2.dtype}")
    if common not in (float32, float64):
        raise DispatchError(f"cdist: not implemented for {common}")
    if not holds(x1.shape[-1] == x2.shape[-1]):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    shape = (*layouts.broadcast_shapes([x1.shape[:-2], x2.shape[:-2]]), x1.shape[-2], x2.shape[-2])
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), common), (x1, x2))
