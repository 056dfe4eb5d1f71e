"""Questions of rules to matrices, as `torch.linalg` asks them."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays.dtypes import INEXACT, as_dtype
from opwright_core.arrays.sizes import holds


def check_inexact(operator: str, operand: Any) -> None:
    """Raise RuntimeError, as `torch.linalg` does, unless the dtype is floating point or complex."""
    dtype = as_dtype(operand.dtype)
    if dtype not in INEXACT:
        raise RuntimeError(f"{operator}: Expected a floating point or complex tensor as input. Got {dtype}")


def check_square(operator: str, operand: Any) -> None:
    """Raise RuntimeError, as `torch.linalg` does, unless the last two dimensions are square matrices."""
    check_matrices(operator, operand)
    rows, columns = operand.shape[-2:]
    if not holds(rows == columns):
        raise RuntimeError(
            f"{operator}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_matrices(operator: str, operand: Any, name: str = "A") -> None:
    """Raise RuntimeError, as `torch.linalg` does, for fewer than two dimensions."""
    if len(operand.shape) < 2:
        raise RuntimeError(f"{operator}: The input tensor {name} must have at least 2 dimensions.")
