"""LU, inverses, Cholesky factors and triangular systems by the LAPACK that NumPy computes with.

NumPy has no names for these routines of it, so they are looked up in the library by theirs; where they are not found,
`serves` says no, and `elimination` does the work.

Matrices are stored by columns, as LAPACK wants them and as ATen returns them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.linalg import _umath_linalg

from opwright_core.arrays import layouts
from opwright_kernels.moving.rearranging import upper_triangle

Array = Any
F = TypeVar("F", bound=Callable[..., Any])

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
# How builds of OpenBLAS and LAPACK spell a routine; those with 64 have integers of 64 bits.
_SPELLINGS = ("scipy_{}_64_", "scipy_{}_", "{}_64_", "{}64_", "{}_")
_ROUTINES = ("dgetrf", "dgetrs", "dgetri", "dpotrf", "dtrsm")
# Columns that an inverse is computed of at once.
_BLOCK = 64
# Columns up to which OpenBLAS's threads take longer than one: fewer than the first it computes on one by itself. Where
# other programs have the processors, its threads wait for each other at work, and take a hundred times as long.
_ALONE = range(32, 257)
# Elimination handles all matrices of a batch at once, so it wins for many small ones: so many for each column.
_MATRICES_PER_COLUMN = 12


@cache
def _spelling() -> tuple[Any, str, Any] | None:
    """Return the library, how it spells routines, and its integers; None where it has none of those."""
    try:
        library = ctypes.CDLL(_umath_linalg.__file__)
    except OSError:
        return None
    for spelling in _SPELLINGS:
        if all(hasattr(library, spelling.format(name)) for name in _ROUTINES):
            return library, spelling, ctypes.c_int64 if "64" in spelling else ctypes.c_int32
    return None


@cache
def _routine(letter: str, name: str) -> Callable[..., Any]:
    found = _spelling()
    assert found is not None
    routine: Callable[..., Any] = getattr(found[0], found[1].format(letter + name))
    return routine


@cache
def _thread_counts() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return what reads and sets the number of OpenBLAS's threads; None for another library."""
    library = (_spelling() or (None,))[0]
    for spelling in ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"):
        if hasattr(library, spelling.format("set_num_threads")):
            names = (spelling.format("get_num_threads"), spelling.format("set_num_threads"))
            return getattr(library, names[0]), getattr(library, names[1])
    return None


def by_few_threads(function: Callable[..., Any], matrices: Array, *args: Any, **options: Any) -> Any:
    """Return the function's result for matrices, computed on one thread if they have few columns.

    The number is the process's: another thread of Python may compute a long product on one meanwhile.
    """
    is_small = isinstance(matrices, np.ndarray) and matrices.ndim > 1 and matrices.shape[-1] in _ALONE
    counts = _thread_counts() if is_small else None
    before = 1 if counts is None else counts[0]()
    if counts is None or before < 2:
        return function(matrices, *args, **options)
    try:
        counts[1](1)
        return function(matrices, *args, **options)
    finally:
        counts[1](before)


def _on_few_threads(function: F) -> F:
    """Return the function as `by_few_threads` calls it."""
    made: Any = wraps(function)(partial(by_few_threads, function))
    found: F = made
    return found


def serves(matrices: Array) -> bool:
    """Whether the routines are there, and are faster for such matrices than to go by columns in Python."""
    if matrices.dtype.char not in _LETTERS or not matrices.size or not isinstance(matrices, np.ndarray):
        return False
    size = matrices.shape[-1]
    is_batch_of_small = matrices.ndim > 2 and prod(matrices.shape[:-2]) > _MATRICES_PER_COLUMN * size
    return not is_batch_of_small and _spelling() is not None


@_on_few_threads
def factor(A: Array) -> tuple[Array, Array]:
    """Factor P @ A = L @ U: L below the diagonal and U from it on in one matrix, and the row that was swapped with
    each, counted from 1 (int32)."""
    turned = _by_columns(A)
    rows, columns = A.shape[-2:]
    pivots = np.empty((*A.shape[:-2], min(rows, columns)), _integer())
    m, n, info = _integers(rows, columns, 0)
    routine = _routine(_LETTERS[A.dtype.char], "getrf")
    for matrix, pivot in _addresses(turned, pivots):
        routine(m, n, matrix, m, pivot, info)
    return turned.swapaxes(-1, -2), pivots.astype("int32")


@_on_few_threads
def solve(factors: Array, pivots: Array, B: Array, transposed: bool) -> Array:
    """Return X with A @ X = B, or A.T @ X = B, from what `factor` gives for A; the batches broadcast."""
    batch = _batch(factors, B)
    result = _by_columns(_for_batch(B, batch, 2))
    matrices = _for_batch(factors.swapaxes(-1, -2), batch, 2)
    swaps = _for_batch(pivots.astype(_integer()), batch, 1)
    n, columns, info = _integers(factors.shape[-1], B.shape[-1], 0)
    routine, way = _routine(_LETTERS[B.dtype.char], "getrs"), b"T" if transposed else b"N"
    for matrix, pivot, right in _addresses(np.ascontiguousarray(matrices), np.ascontiguousarray(swaps), result):
        routine(way, n, columns, matrix, n, pivot, right, n, info)
    return result.swapaxes(-1, -2)


@_on_few_threads
def inverse(factors: Array, pivots: Array) -> Array:
    """Return the inverse of A from what `factor` gives for A, which has no zero on the diagonal of U."""
    result = _by_columns(factors)
    work = np.empty(_BLOCK * factors.shape[-1], factors.dtype)
    n, size, info = _integers(factors.shape[-1], work.size, 0)
    routine, space = _routine(_LETTERS[factors.dtype.char], "getri"), ctypes.c_void_p(work.ctypes.data)
    for matrix, pivot in _addresses(result, pivots.astype(_integer())):
        routine(n, matrix, n, pivot, space, size, info)
    return result.swapaxes(-1, -2)


@_on_few_threads
def factor_definite(A: Array) -> Array | None:
    """Return L with A = L @ L.mH from the lower triangle of A; None where a matrix is not positive-definite."""
    turned = _by_columns(A)
    info = _integer()(0)
    (n,) = _integers(A.shape[-1])
    routine = _routine(_LETTERS[A.dtype.char], "potrf")
    for (matrix,) in _addresses(turned):
        routine(b"L", n, matrix, n, ctypes.byref(info))
        if info.value:
            return None
    return upper_triangle(np, turned, 0).swapaxes(-1, -2)


@_on_few_threads
def solve_triangle(A: Array, B: Array, upper: bool, unit: bool) -> Array:
    """Return X with A @ X = B, for one triangle of A; `unit`: with ones on its diagonal. The batches broadcast."""
    batch = _batch(A, B)
    result = _by_columns(_for_batch(B, batch, 2))
    matrices = np.ascontiguousarray(_for_batch(A, batch, 2))  # rows, which are the columns of the transposed matrix
    n, columns = _integers(*B.shape[-2:])
    one = ctypes.c_void_p(_one(A.dtype).ctypes.data)
    routine, half, diagonal = _routine(_LETTERS[A.dtype.char], "trsm"), b"L" if upper else b"U", b"U" if unit else b"N"
    for matrix, right in _addresses(matrices, result):
        routine(b"L", half, b"T", diagonal, n, columns, one, matrix, n, right, n)
    return result.swapaxes(-1, -2)


@cache
def _one(dtype: Any) -> Array:
    return np.ones((), dtype)


@cache
def _integer() -> Any:
    found = _spelling()
    assert found is not None
    return found[2]


def _integers(*values: int) -> list[Any]:
    """Return numbers as Fortran takes them: by reference."""
    kind = _integer()
    return [ctypes.byref(kind(value)) for value in values]


def _by_columns(A: Array) -> Array:
    """Return a copy of the transposed matrices, row by row: columns of `A`, one after another."""
    return np.array(A.swapaxes(-1, -2), order="C")


def _batch(first: Array, second: Array) -> tuple[int, ...]:
    if first.ndim == second.ndim == 2:
        return ()
    return layouts.broadcast_shapes([first.shape[:-2], second.shape[:-2]])


def _for_batch(array: Array, batch: tuple[int, ...], inner: int) -> Array:
    """Return one array for each position of the batch; `inner` dimensions are not of the batch."""
    if array.shape[: array.ndim - inner] == batch:
        return array
    return np.broadcast_to(array, (*batch, *array.shape[array.ndim - inner :]))


def _addresses(*arrays: Array) -> Iterator[list[Any]]:
    """Yield for each position of the batch where the matrices, and vectors of integers, of all arrays start."""
    starts = [array.ctypes.data for array in arrays]
    yield [ctypes.c_void_p(start) for start in starts]
    inner = [1 if array.dtype.kind == "i" else 2 for array in arrays]
    count = prod(arrays[0].shape[: arrays[0].ndim - inner[0]])
    steps = [array.nbytes // count for array in arrays]
    for position in range(1, count):
        yield [ctypes.c_void_p(start + position * step) for start, step in zip(starts, steps, strict=True)]
