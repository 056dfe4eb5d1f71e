"""Products of vectors and matrices, which are names of the namespace itself and of its `linalg`."""

from __future__ import annotations

from collections.abc import Sequence

import opwright
from opwright.array_api.promotion import promoted
from opwright.methods.functional import tensordot as sum_of_products
from opwright_core.tensors.tensor import Tensor

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the product of matrices, of vectors with them or of two vectors."""
    return opwright.matmul(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view with the last two axes swapped. Raises ValueError where there are not two."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, but got {x.ndim}")
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Return the sum of products over `axes`: so many at the end of `x1` and the start of `x2`, or two lists."""
    first, second = promoted(x1, x2)
    return sum_of_products(first, second, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the sum of products along `axis`, the elements of `x1` conjugated. Raises ValueError where its sizes
    differ."""
    first, second = promoted(x1, x2)
    if first.size(axis) != second.size(axis):
        raise ValueError(
            f"vecdot: axis {axis} has size {first.size(axis)} in one array, {second.size(axis)} in the other"
        )
    left, right = opwright.movedim(first, axis, -1), opwright.movedim(second, axis, -1)
    return opwright.sum(opwright.conj(left) * right, (-1,), dtype=first.dtype)
