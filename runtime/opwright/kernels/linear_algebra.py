"""Products of matrices and vectors. Arrays come in the dtype that is computed in; the rule `gufunc` has checked the
shapes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

Array = Any


def matrix_product_sum(
    xp: ModuleType, self: Array, mat1: Array, mat2: Array, beta: complex, alpha: complex, out: Array | None = None
) -> Array:
    """`addmm`: beta * self + alpha * (mat1 @ mat2); where beta is 0, `self` is not read, so that its NaNs do not
    show."""
    product = xp.matmul(mat1, mat2)
    if alpha != 1:
        product = xp.multiply(product, _as_element(product, alpha))
    if beta == 0:
        return product if out is None else xp.positive(product, out=out)
    return xp.add(self if beta == 1 else xp.multiply(self, _as_element(self, beta)), product, out=out)


def _as_element(array: Array, value: complex) -> Any:
    if array.dtype.kind in "iu" and not isinstance(value, int):
        raise RuntimeError("For integral input tensors, arguments alpha and beta must not be floating point numbers.")
    return array.dtype.type(value)
