"""Products of vectors and matrices that are made of others. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_fast_path
from opwright.metadata.view_layouts import without_base
from opwright.namespaces import aten as direct
from opwright_core.arrays import layouts
from opwright_core.arrays.devices import shape_of
from opwright_core.arrays.sizes import guard_or_false, holds
from opwright_core.rules.dimensions import wrap_dims
from opwright_core.tensors.tensor import wrap
from opwright_kernels.linalg.linear_algebra import matrix_product
from opwright_kernels.plain import arrays_of
from opwright_kernels.rules.matrices import check_inexact, check_square

Operand = Any  # a Tensor


def matmul(self: Operand, other: Operand) -> Operand:
    """Multiply over the last two dimensions; vectors count as a row or a column, the dimensions before broadcast."""
    left, right = len(shape_of(self.array)), len(shape_of(other.array))
    if left == right == 2:
        return direct["mm.default"](self, other)
    if left >= 2 <= right:
        arrays = arrays_of(self, other)
        if arrays is not None and arrays[0].shape[-1] == arrays[1].shape[-2] and arrays[0].size and arrays[1].size:
            product = _product_of_arrays(*arrays)
            if product is not None:
                return wrap(product)
    if not left or not right:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    match left, right:
        case 1, 1:
            return direct["dot.default"](self, other)
        case 2, 1:
            return direct["mv.default"](self, other)
        case 1, 2:
            rows = direct["mm.default"](direct["unsqueeze.default"](self, 0), other)
            return without_base(direct["squeeze.dim"](rows, 0))
        case _, (1 | 2) if left >= 3:
            return _folded_product(self, other)
        case _:
            return _batched_product(self, other)


def _product_of_arrays(left: Any, right: Any) -> Any:
    """Return the product of NumPy arrays of 2 or more dimensions; None where they do not broadcast."""
    if right.ndim == 2:
        rows = matrix_product(np, left.reshape(-1, left.shape[-1]), right)
        return rows.reshape(*left.shape[:-1], right.shape[-1])
    try:
        return matrix_product(np, left, right)
    except ValueError:
        return None


def _folded_product(self: Operand, other: Operand) -> Operand:
    """Multiply by one matrix on the right: the dimensions before are rows of one matrix on the left."""
    *outer, inner = self.shape
    rows = direct["reshape.default"](self, [prod(outer), inner])
    product = direct["mv.default"](rows, other) if len(other.shape) == 1 else direct["mm.default"](rows, other)
    return without_base(direct["view.default"](product, [*outer, *other.shape[1:]]))


def _batched_product(self: Operand, other: Operand) -> Operand:
    aten = opwright.ops.aten
    if len(self.shape) == len(other.shape) == 3 and self.shape[0] == other.shape[0] and is_fast_path(self, other):
        return aten.bmm(self, other)
    rows = [1, *self.shape] if len(self.shape) == 1 else list(self.shape)
    columns = [*other.shape, 1] if len(other.shape) == 1 else list(other.shape)
    batch = list(layouts.broadcast_shapes([tuple(rows[:-2]), tuple(columns[:-2])]))
    count = prod(batch)
    is_plain = len(self.shape) > 1 < len(other.shape) and count and is_fast_path(self, other)
    if is_plain and batch == rows[:-2] == columns[:-2]:
        matrices = direct["reshape.default"](self, [count, *rows[-2:]])
        product = direct["bmm.default"](matrices, direct["reshape.default"](other, [count, *columns[-2:]]))
        return without_base(direct["view.default"](product, [*batch, *product.shape[1:]]))
    matrices = aten.reshape(aten.expand(aten.reshape(self, rows), [*batch, *rows[-2:]]), [count, *rows[-2:]])
    others = aten.reshape(aten.expand(aten.reshape(other, columns), [*batch, *columns[-2:]]), [count, *columns[-2:]])
    kept = batch + ([rows[-2]] if len(self.shape) > 1 else []) + ([columns[-1]] if len(other.shape) > 1 else [])
    return without_base(aten.view(aten.bmm(matrices, others), kept))


def linalg_vecdot(x: Operand, y: Operand, dim: int) -> Operand:
    """Return the products of vectors along `dim`, the first one conjugated; the other dimensions broadcast."""
    check_inexact("linalg.vecdot", x)
    if x.dtype != y.dtype:
        raise RuntimeError(f"linalg.vecdot: expected operands of one dtype, but got {x.dtype} and {y.dtype}")
    aten = opwright.ops.aten
    if len(x.shape) == 1 and len(y.shape) == 1:
        return aten.vdot(x, y)
    return aten.sum(aten.mul(aten.conj(x), y), [dim])


def outer(self: Operand, vec2: Operand) -> Operand:
    """Return the products of all pairs of two vectors' elements."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if len(vector.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(vector.shape)}-D")
    aten = opwright.ops.aten
    return aten.mul(aten.reshape(self, [self.shape[0], 1]), vec2)


def inner(self: Operand, other: Operand) -> Operand:
    """Return the products of vectors along the last dimensions: each of `self` with each of `other`. A 0-dim operand
    multiplies."""
    if not self.shape or not other.shape:
        return opwright.ops.aten.mul(self, other)
    if not holds(self.shape[-1] == other.shape[-1]):
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return opwright.ops.aten.tensordot(self, other, [-1], [-1])


def tensordot(self: Operand, other: Operand, dims_self: Sequence[int], dims_other: Sequence[int]) -> Operand:
    """Return the sum of products over pairs of dimensions: `dims_self[i]` of `self` with `dims_other[i]` of `other`. Of
    such a pair one may have size 1. The result has the other dimensions of both."""
    aten = opwright.ops.aten
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError(f"both inputs should have same dtype, but got {self.dtype} and {other.dtype}")
    left, right = (
        [layouts.wrap_dim(dim, len(each.shape)) for dim in dims]
        for each, dims in ((self, dims_self), (other, dims_other))
    )
    for first, second in zip(left, right, strict=True):
        a, b = self.shape[first], other.shape[second]
        if guard_or_false(b == 1):
            self = aten.sum(self, [first], True, dtype=self.dtype)
        elif guard_or_false(a == 1):
            other = aten.sum(other, [second], True, dtype=other.dtype)
        elif a != b:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a} in dim {first} and second has size {b} "
                f"in dim {second}"
            )
    wrap_dims(left or None, len(self.shape))
    wrap_dims(right or None, len(other.shape))
    rows, columns = (
        [dim for dim in range(len(each.shape)) if dim not in dims] for each, dims in ((self, left), (other, right))
    )
    shape = [self.shape[dim] for dim in rows] + [other.shape[dim] for dim in columns]
    count = prod(self.shape[dim] for dim in left)
    matrix = aten.reshape(aten.permute(self, rows + left), [prod(shape[: len(rows)]), count])
    factor = aten.reshape(aten.permute(other, right + columns), [count, prod(shape[len(rows) :])])
    if not shape:
        return aten.dot(aten.reshape(matrix, [count]), aten.reshape(factor, [count]))
    return aten.reshape(aten.mm(matrix, factor), shape)


def kron(self: Operand, other: Operand) -> Operand:
    """Return the Kronecker product: each element of `self` replaced by its product with all of `other`."""
    aten = opwright.ops.aten
    ndim = max(len(self.shape), len(other.shape))
    sizes = [[1] * (ndim - len(each.shape)) + list(each.shape) for each in (self, other)]
    left = aten.reshape(self, [size for pair in sizes[0] for size in (pair, 1)])
    right = aten.reshape(other, [size for pair in sizes[1] for size in (1, pair)])
    return without_base(aten.reshape(aten.mul(left, right), [a * b for a, b in zip(*sizes, strict=True)]))


def cross(self: Operand, other: Operand, dim: int | None) -> Operand:
    """Return the vector product along `dim`, or along the first dimension of size 3."""
    if dim is None:
        dim = next((position for position, size in enumerate(self.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return opwright.ops.aten.linalg_cross(self, other, dim=dim)


# Products of several matrices


def chain_matmul(matrices: Sequence[Operand]) -> Operand:
    """Return the product of one or more matrices, in the cheapest order."""
    for matrix in matrices:
        if len(matrix.shape) != 2:
            raise RuntimeError(f"Tensor dimension is {len(matrix.shape)}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return opwright.ops.aten.clone(matrices[0])
    return linalg_multi_dot(matrices)


def linalg_multi_dot(tensors: Sequence[Operand]) -> Operand:
    """Return the product of two or more matrices, in the cheapest order; the first and the last one may be vectors."""
    aten = opwright.ops.aten
    _check_chain(tensors)
    matrices = list(tensors)
    shape = []
    if len(tensors[0].shape) == 1:
        matrices[0] = aten.unsqueeze(tensors[0], 0)
    else:
        shape.append(tensors[0].shape[0])
    if len(tensors[-1].shape) == 1:
        matrices[-1] = aten.unsqueeze(tensors[-1], -1)
    else:
        shape.append(tensors[-1].shape[1])
    for position, (first, second) in enumerate(pairwise(matrices)):
        if not holds(first.shape[1] == second.shape[0]):
            raise RuntimeError(
                f"multi_dot(): tensors {position} and {position + 1} with shapes {list(tensors[position].shape)} and "
                f"{list(tensors[position + 1].shape)} cannot be multiplied"
            )
    return aten.view(_chain(matrices), shape)


def _check_chain(tensors: Sequence[Operand]) -> None:
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for position, tensor in enumerate(tensors):
        ndim = len(tensor.shape)
        if position in (0, count - 1):
            if ndim not in (1, 2):
                which = "last" if position else "first"
                raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {ndim}D")
        elif ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {position} must be 2D but got {ndim}D")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have the same dtype, but tensor 0 is {tensors[0].dtype} and tensor "
                f"{position} {tensor.dtype}"
            )


def _chain(matrices: Sequence[Operand]) -> Operand:
    """Return the product in the order that takes the fewest multiplications (dynamic programming over all parts)."""
    sizes = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    count = len(matrices)
    best: dict[tuple[int, int], tuple[Any, int]] = {(position, position): (0, position) for position in range(count)}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            best[first, last] = min(
                (
                    best[first, cut][0] + best[cut + 1, last][0] + sizes[first] * sizes[cut + 1] * sizes[last + 1],
                    cut,
                )
                for cut in range(first, last)
            )

    def product(first: int, last: int) -> Operand:
        if first == last:
            return matrices[first]
        cut = best[first, last][1]
        return opwright.ops.aten.mm(product(first, cut), product(cut + 1, last))

    return product(0, count - 1)


def linalg_matrix_power(self: Operand, n: int) -> Operand:
    """Multiply square matrices `n` times: the identity for 0, powers of the inverse below."""
    aten = opwright.ops.aten
    check_square("linalg.matrix_power", self)
    if n == 0:
        identity = aten.zero_(aten.clone(self, memory_format=opwright.contiguous_format))  # its gradient is 0
        aten.fill_(aten.diagonal(identity, 0, -2, -1), 1)
        return identity
    if n == 1:
        return aten.clone(self, memory_format=opwright.contiguous_format)
    base = aten.linalg_inv(self) if n < 0 else self
    power, left = None, abs(n)
    while True:
        if left % 2:
            power = base if power is None else aten.matmul(power, base)
        left //= 2
        if not left:
            return power
        base = aten.matmul(base, base)
