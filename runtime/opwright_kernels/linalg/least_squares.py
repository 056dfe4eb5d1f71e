"""Least squares: the solution of the smallest norm that comes nearest, by singular values."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright.errors import DynamicOutputShapeError, LinAlgError
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, complex64, complex128, float32, float64, int64, to_real
from opwright_core.arrays.sizes import holds
from opwright_core.errors import DispatchError
from opwright_core.locks.long_calls import cubic, interruptible
from opwright_kernels.linalg import lapack
from opwright_kernels.moving.shapes import strided
from opwright_kernels.rules.matrices import check_inexact

Array = Any

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@interruptible
@cubic
def least_squares(
    xp: ModuleType, self: Array, b: Array, rcond: float | None, driver: str | None
) -> tuple[Array, Array, Array, Array]:
    """Return X that makes |A @ X - B| smallest, the squares of that for each column, the rank of A, and its singular
    values (`linalg_lstsq`).

    `driver` is LAPACK's routine: `gels` takes full rank for granted, `gelsy` gives the rank, `gelsd` and `gelss` give
    singular values too. What one does not give is empty, as the squares are of `gelsy`, and where there is no rank n
    or are no more than n rows. Raises LinAlgError for what is not finite, or (`gels`) not of full rank.
    """
    driver = _checked_driver(driver)
    is_vector, _ = _checked_systems(self, b)
    rows, columns = self.shape[-2:]
    right = b[..., None] if is_vector else b
    u, s, vh = _decomposed(xp, self)
    bound = _bound(xp, s, max(rows, columns), 0.0 if driver == "gels" else rcond)
    is_counted = s > bound
    if driver == "gels" and not bool(is_counted.all()):
        raise LinAlgError(
            "torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not "
            "have full rank"
        )
    inverted = xp.where(is_counted, 1 / xp.where(is_counted, s, 1), 0)
    solution = vh.conj().swapaxes(-1, -2) @ (inverted[..., None] * (u.conj().swapaxes(-1, -2) @ right))
    rank = is_counted.sum(axis=-1).astype("int64")
    none = xp.zeros(0, s.dtype)
    residuals = none
    if rows > columns and driver != "gelsy" and bool((rank == columns).all()):
        residuals = (xp.abs(self @ solution - right) ** 2).sum(axis=-2)
    solution = _as_left(xp, solution, max(rows, columns))
    solution = solution[..., 0] if is_vector else solution
    values = s if driver in ("gelsd", "gelss") else none
    return solution, residuals, xp.zeros(0, "int64") if driver == "gels" else rank, values


def _as_left(xp: ModuleType, solution: Array, larger: int) -> Array:
    """Return the solution by columns, in the memory of the right side, as LAPACK leaves it."""
    held = xp.zeros((*solution.shape[:-2], solution.shape[-1], larger), solution.dtype)
    *outer, step, one = (each * held.itemsize for each in layouts.contiguous_strides(held.shape))
    result = strided(xp, held, solution.shape, (*outer, one, step))
    result[...] = solution
    return result


def _checked_driver(driver: str | None) -> str:
    if driver not in (None, *_DRIVERS):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    return driver or "gelsy"


def _checked_systems(self: Array, b: Array) -> tuple[bool, tuple[Any, ...]]:
    """Return whether `b` is a vector, or a batch of as many as there are matrices, and the batch of both."""
    check_inexact("torch.linalg.lstsq", self)
    if len(self.shape) < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not b.shape:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if as_dtype(self.dtype) not in (float32, float64, complex64, complex128):
        raise DispatchError(f"torch.linalg.lstsq: not implemented for {as_dtype(self.dtype)}")
    if b.dtype != self.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{self.dtype} and other's dtype {b.dtype}"
        )
    if not 0 <= len(self.shape) - len(b.shape) <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            "<= 1"
        )
    is_vector = len(b.shape) == 1 or (len(b.shape) < len(self.shape) and layouts.same_shape(b.shape, self.shape[:-1]))
    shape = (*b.shape, 1) if is_vector else b.shape
    if not holds(shape[-2] == self.shape[-2]):
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    return is_vector, layouts.broadcast_shapes([self.shape[:-2], shape[:-2]])


def _decomposed(xp: ModuleType, A: Array) -> tuple[Array, Array, Array]:
    if not bool(xp.isfinite(A).all()):  # LAPACK would search without end
        raise LinAlgError("torch.linalg.lstsq: The input matrix contains values that are not finite")
    u, s, vh = lapack.by_few_threads(xp.linalg.svd, A, full_matrices=False)
    return u, s, vh


def _bound(xp: ModuleType, s: Array, larger: int, rcond: float | None) -> Array:
    """Return up to what singular values count as zero."""
    if not s.shape[-1]:
        return xp.zeros((*s.shape[:-1], 1), s.dtype)
    relative = float(xp.finfo(s.dtype).eps) * larger if rcond is None else rcond
    return s[..., :1] * s.dtype.type(relative)


def unknown_least_squares(
    xp: ModuleType, self: Array, b: Array, rcond: float | None, driver: str | None
) -> tuple[Array, Array, Array, Array]:
    """Return results without data (`linalg_lstsq`): whether there are residuals, `gelsd` and `gelss` find out."""
    driver = _checked_driver(driver)
    is_vector, batch = _checked_systems(self, b)
    rows, columns = self.shape[-2:]
    if driver in ("gelsd", "gelss") and rows > columns:
        raise DynamicOutputShapeError(
            f"linalg_lstsq(driver={driver!r}): whether there are residuals depends on ranks, which a tensor without "
            "data cannot say; the driver 'gelsy' gives none, and 'gels' always"
        )
    right = () if is_vector else b.shape[-1:]
    sizes = (*batch, *(right or (1,)), rows if columns < rows else columns)
    held = xp.empty_like(self, shape=sizes).swapaxes(-1, -2)
    solution = held[..., :columns, 0] if is_vector else held[..., :columns, :]
    real = to_real(as_dtype(self.dtype))
    has_residuals = driver == "gels" and rows > columns
    residuals = xp.empty_like(self, real, shape=(*batch, *(right or (1,))) if has_residuals else (0,))
    rank = xp.empty_like(self, int64, shape=(0,) if driver == "gels" else self.shape[:-2])
    count = (columns if columns < rows else rows,)
    values = xp.empty_like(self, real, shape=(*self.shape[:-2], *count) if driver in ("gelsd", "gelss") else (0,))
    return solution, residuals, rank, values
