"""Reflections, LDL and LU factors, exponentials: batches of matrices in the last two dimensions."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Matrices, Vectors
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, as_dtype, bool_, int32, opmath
from opwright_core.arrays.sizes import holds, smaller
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_kernels.rules.linear_algebra import decomposed, solution
from opwright_kernels.rules.matrices import check_inexact, check_square


def reflections(input: Matrices, tau: Vectors) -> Plan:
    """Plan the first columns of a product of reflections, column-major. Raises RuntimeError where shapes or dtypes do
    not fit, DispatchError for other dtypes than single and double precision."""
    operator = "torch.linalg.householder_product"
    _check_dimensions(operator, input, "input")
    rows, columns = input.shape[-2:]
    if not holds(rows >= columns):
        raise RuntimeError(f"{operator}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    _check_tau(operator, input, tau)
    if not holds(columns >= tau.shape[-1]):
        raise RuntimeError(f"{operator}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    return Plan(decomposed(operator, input, square=False, columns=True).spec, (input, tau))


def reflected_matrices(self: Matrices, input2: Vectors, input3: Matrices, left: bool) -> Plan:
    """Plan products of reflections and other matrices, column-major. Raises what `reflections` raises."""
    operator = "torch.ormqr"
    _check_dimensions(operator, self, "input")
    _check_dimensions(operator, input3, "other")
    side = -2 if left else -1
    if not holds(input3.shape[side] == self.shape[-2]):
        raise RuntimeError(f"{operator}: other.shape[{side}] must be equal to input.shape[-2]")
    _check_tau(operator, self, input2)
    if not holds(input2.shape[-1] == smaller(input3.shape[side], self.shape[-1])):
        raise RuntimeError(
            f"{operator}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1]), but it is "
            f"{input2.shape[-1]}"
        )
    if len(input3.shape) != len(self.shape) or not layouts.same_shape(input3.shape[:-2], self.shape[:-2]):
        raise RuntimeError(
            f"{operator}: Expected other to have the batch dimensions of input, {list(self.shape[:-2])}, but got "
            f"{list(input3.shape[:-2])}"
        )
    if input3.dtype != self.dtype:
        raise RuntimeError(f"{operator}: other dtype {input3.dtype} does not match input dtype {self.dtype}")
    return Plan(decomposed(operator, input3, square=False, columns=True).spec, (self, input2, input3))


def _check_dimensions(operator: str, matrices: Any, name: str) -> None:
    if len(matrices.shape) < 2:
        raise RuntimeError(f"{operator}: {name} must have at least 2 dimensions.")


def _check_tau(operator: str, matrices: Any, tau: Any) -> None:
    if len(tau.shape) != len(matrices.shape) - 1 or not layouts.same_shape(tau.shape[:-1], matrices.shape[:-2]):
        raise RuntimeError(
            f"{operator}: Expected tau to have one dimension less than input, and its batch dimensions, but got tau of "
            f"shape {list(tau.shape)} and input of shape {list(matrices.shape)}"
        )
    if tau.dtype != matrices.dtype:
        raise RuntimeError(f"{operator}: tau dtype {tau.dtype} does not match input dtype {matrices.dtype}")


def ldl_solution(LD: Matrices, pivots: Vectors, B: Matrices) -> Plan:
    """Plan X of A @ X = B from the LDL factors of A, column-major. Raises RuntimeError where `pivots` do not belong to
    the factors."""
    spec = solution("torch.linalg.ldl_solve", LD, B).spec
    if not layouts.same_shape(pivots.shape, LD.shape[:-1]):
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    dtype = as_dtype(pivots.dtype)
    if dtype in FLOATING or dtype in COMPLEX or dtype is bool_:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {dtype}")
    return Plan(spec, (LD, pivots, B))


def lu_unpacked(
    LU_data: Matrices, LU_pivots: Vectors, unpack_data: bool, unpack_pivots: bool
) -> tuple[Plan, Plan, Plan]:
    """Plan P, L and U from both in one matrix, and pivots; what is not asked for is empty. Raises RuntimeError for
    what are no matrices, and for pivots of another dtype than int32."""
    if len(LU_data.shape) < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    rows, columns = LU_data.shape[-2:]
    if unpack_pivots and LU_pivots.dtype != int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    size = smaller(rows, columns)
    given, batch = as_dtype(LU_data.dtype), LU_data.shape[:-2]
    sizes = ((rows, rows, unpack_pivots), (rows, size, unpack_data), (size, columns, unpack_data))
    shapes = [(*batch, *each[:2]) if each[2] else (0,) for each in sizes]
    first, second, third = (
        Plan(TensorSpec(shape, layouts.contiguous_strides(shape), given), (LU_data, LU_pivots)) for shape in shapes
    )
    return first, second, third


def exponentials(self: Matrices) -> Plan:
    """Plan the exponentials of square matrices, row-major. Raises RuntimeError for other shapes and for integers."""
    check_inexact("linalg.matrix_exp", self)
    check_square("linalg.matrix_exp", self)
    dtype = as_dtype(self.dtype)
    compute = opmath(dtype)
    strides = layouts.contiguous_strides(self.shape)
    return Plan(
        TensorSpec(tuple(self.shape), strides, dtype, dtype, compute, compute, (compute is not dtype,)), (self,)
    )
