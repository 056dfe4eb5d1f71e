"""Systems of equations, sums with products, and matrices put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, first, rank, spread

__all__ = ["added_outer", "block_diagonal", "check_all", "check_errors", "matmul", "solve"]


def solve(info: Any, in_dims: Any, A: Operand, B: Operand, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return solutions of systems of equations, the factors of A, pivots, and which of these was zero."""
    aten = opwright.ops.aten
    one, other = every(info, A, in_dims[0]), every(info, B, in_dims[1])
    is_vector = other.ndim == 2 or (other.ndim == one.ndim - 1 and other.shape == one.shape[:-1])
    if is_vector:
        other = aten.unsqueeze(other, -1)
    ndim = max(one.ndim, other.ndim) - 1
    found = aten._linalg_solve_ex(spread(one, ndim), spread(other, ndim), left=left, check_errors=check_errors)
    result = aten.squeeze.dim(found[0], -1) if is_vector else found[0]
    sizes = list(one.shape[:-2])
    size = one.shape[-1]
    parts = [found[1].reshape([*sizes, size, size]), found[2].reshape([*sizes, size]), found[3].reshape(sizes)]
    return (result, *parts), (0, 0, 0, 0)


def added_outer(
    info: Any, in_dims: Any, self: Operand, vec1: Operand, vec2: Operand, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Return `self` plus products of all pairs of two vectors' elements."""
    aten = opwright.ops.aten
    added, column, row = (every(info, *pair) for pair in zip((self, vec1, vec2), in_dims, strict=True))
    for name, each in (("vec1", column), ("vec2", row)):
        if each.ndim != 2:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {each.ndim - 1}-D")
    product = aten.mul.Tensor(aten.unsqueeze(column, 2), aten.unsqueeze(row, 1))
    if added.ndim > 3:
        raise RuntimeError(f"addr: self of {added.ndim - 1} dimensions does not expand to a matrix")
    dtype = opwright.result_type(added, product)
    if alpha != 1:
        product = aten.mul.Scalar(product, alpha)
    if beta == 0:
        return product.to(dtype), 0
    if beta != 1:
        added = aten.mul.Scalar(added, beta)
    return aten.add.Tensor(spread(added, 2), product).to(dtype), 0


def block_diagonal(info: Any, in_dims: Any, tensors: Sequence[Operand]) -> Any:
    """Return matrices along the diagonal of one; a vector is a row, a number a matrix of one element."""
    aten = opwright.ops.aten
    dims = in_dims[0] if isinstance(in_dims[0], list) else [None] * len(tensors)
    blocks = []
    for position, (tensor, dim) in enumerate(zip(tensors, dims, strict=True)):
        block = spread(every(info, tensor, dim), 2)
        if block.ndim > 3:
            raise RuntimeError(f"block_diag: expected at most 2 dimensions, but input {position} has {block.ndim - 1}")
        blocks.append(block)
    width, before, rows = sum(block.shape[2] for block in blocks), 0, []
    for block in blocks:
        rows.append(aten.constant_pad_nd(block, [before, width - before - block.shape[2]]))
        before += block.shape[2]
    return aten.cat(rows, 1), 0


def check_all(info: Any, in_dims: Any, self: Operand, *message: str) -> Any:
    """Raise what `_assert_async` raises unless it is true for all samples."""
    check = opwright.ops.aten._assert_async
    value = first(self, in_dims[0]).all()
    check.msg(value, *message) if message else check.default(value)
    return (), ()


def check_errors(info: Any, in_dims: Any, info_: Operand, api_name: str, *, is_matrix: bool) -> Any:
    """Raise the error that a decomposition of any sample had."""
    opwright.ops.aten._linalg_check_errors(first(info_, in_dims[0]), api_name, is_matrix=False)
    return (), ()


def matmul(info: Any, in_dims: Any, self: Operand, other: Operand) -> Any:
    """Return products of matrices or vectors, before whose dimensions batches broadcast."""
    aten = opwright.ops.aten
    ranks = rank(self, in_dims[0]), rank(other, in_dims[1])
    if 0 in ranks:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {ranks[0]}D and {ranks[1]}D")
    if in_dims[1] is None and ranks[1] <= 2:
        return aten.matmul(first(self, in_dims[0]), other), 0
    one, two = every(info, self, in_dims[0]), every(info, other, in_dims[1])
    one = aten.unsqueeze(one, 1) if ranks[0] == 1 else one
    two = aten.unsqueeze(two, -1) if ranks[1] == 1 else two
    ndim = max(one.ndim, two.ndim) - 1
    found = aten.matmul(spread(one, ndim), spread(two, ndim))
    if ranks[0] == 1:
        found = aten.squeeze.dim(found, -2)
    return (aten.squeeze.dim(found, -1) if ranks[1] == 1 else found), 0
