"""What operators on factors of matrices are called with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from samples_linear_algebra import PRECISE, Samples, each_of, matrices, regular, squares
from sampling import BOOL, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, Array, Sample, make, sample

from opwright_kernels.linalg.elimination import factor
from opwright_kernels.linalg.symmetric_factors import ldl_and_info

REFLECTED: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5, 3), (3,)), ((5, 3), (2,)), ((3, 3), (3,)), ((2, 5, 3), (2, 3)), ((5, 3), (0,)), ((5, 0), (0,)),
    ((0, 5, 3), (0, 3)), ((5, 3), (4,)), ((3, 5), (3,)), ((2, 5, 3), (3,)), ((2, 5, 3), (1, 3)), ((5,), (1,)),
)  # fmt: skip


def _small(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> Array:
    return (make(shape, dtype, seed=seed) / 5).astype(dtype)


def reflections() -> Iterator[Sample]:
    for dtype in PRECISE:
        yield sample(_small((5, 3), dtype), _small((3,), dtype))
    for first, second in REFLECTED:
        yield sample(_small(first, FLOAT64), _small(second, FLOAT64))
    yield sample(_small((3, 5), FLOAT64).T, _small((6,), FLOAT64)[::2])
    yield sample(_small((5, 3), FLOAT32), _small((3,), FLOAT64))
    yield sample(_small((5, 3), FLOAT16), _small((3,), FLOAT16))


def reflected() -> Iterator[Sample]:
    options = [(left, transpose) for left in (True, False) for transpose in (False, True)]
    for left, transpose in options:
        other = (5, 4) if left else (4, 5)
        for dtype in PRECISE:
            yield sample(_small((5, 3), dtype), _small((3,), dtype), make(other, dtype), left, transpose)
        for first, second in REFLECTED:
            many = (*first[:-2], *other)
            yield sample(_small(first, FLOAT64), _small(second, FLOAT64), make(many, FLOAT64), left, transpose)
    yield sample(_small((5, 3), FLOAT64), _small((3,), FLOAT64), make((4, 5), FLOAT64).T)
    yield sample(_small((5, 3), FLOAT64), _small((3,), FLOAT64), make((4, 4), FLOAT64))
    yield sample(_small((5, 3), FLOAT64), _small((3,), FLOAT64), make((5, 4), FLOAT32))
    yield sample(_small((5, 3), FLOAT64), _small((3,), FLOAT64), make((5,), FLOAT64))


def factored(hermitian: bool) -> Iterator[tuple[Array, Array]]:
    """LDL factors, with blocks of two rows among them, and pivots."""
    for dtype in PRECISE:
        for shape in ((4, 4), (2, 4, 4), (1, 1), (0, 0), (0, 3, 3)):
            whole = make(shape, dtype) - 3 * np.eye(shape[-1], dtype=dtype)
            yield ldl_and_info(np, whole.astype(dtype), hermitian, False)[:2]


def solved() -> Iterator[Sample]:
    for hermitian in (False, True):
        for factors, pivots in factored(hermitian):
            size, batch = factors.shape[-1], factors.shape[:-2]
            yield sample(factors, pivots, make((*batch, size, 2), factors.dtype), hermitian=hermitian)
    factors, pivots = next(factored(False))
    for shape in ((3, 4, 2), (4, 0), (4,), (3, 2)):
        yield sample(factors, pivots, make(shape, FLOAT32))
    yield sample(factors, pivots.astype(INT64), make((4, 2), FLOAT32))
    yield sample(factors, pivots.astype(FLOAT32), make((4, 2), FLOAT32))
    yield sample(factors, pivots[:2], make((4, 2), FLOAT32))
    yield sample(factors, pivots, make((4, 2), FLOAT64))
    yield sample(factors[:, :3], pivots, make((4, 2), FLOAT32))


def symmetric() -> Iterator[Array]:
    yield from (each for each in regular() if not each.size or each.ndim < 2 or np.abs(each).sum() > 12)
    for dtype in PRECISE:
        yield make((7, 7), dtype)
        yield np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]], dtype)


def unpacked() -> Iterator[Sample]:
    flags = [(data, pivots) for data in (True, False) for pivots in (True, False)]
    for shape in ((4, 4), (5, 3), (3, 5), (2, 3, 3), (0, 3), (3, 0), (0, 3, 3)):
        for dtype in (*PRECISE, INT64) if len(shape) == 2 and shape[0] else PRECISE[:1]:
            rows, size = shape[-2], min(shape[-2:])
            pivots = np.minimum(np.arange(1, size + 1) + np.arange(size) % 2, rows).astype(INT32)
            pivots = np.ascontiguousarray(np.broadcast_to(pivots, (*shape[:-2], size)))
            yield from (sample(make(shape, dtype), pivots, *each) for each in flags[: None if dtype == FLOAT32 else 1])
    pivots = np.array([1, 2, 3], INT32)
    yield sample(make((3, 3), FLOAT64), pivots.astype(INT64))
    yield sample(make((3, 3), FLOAT64), pivots + np.int32(1))
    yield sample(make((3, 3), FLOAT64), pivots - np.int32(1))
    yield sample(make((3,), FLOAT64), pivots)


def solved_with_lu() -> Iterator[Sample]:
    for dtype in PRECISE:
        whole = (make((2, 3, 3), dtype) + 9 * np.eye(3)).astype(dtype)
        factors, pivots, _ = factor(np, whole)
        yield sample(make((2, 3, 2), dtype), factors, pivots)
    yield sample(make((3, 2), COMPLEX128), factors, pivots)
    yield sample(make((2, 2), COMPLEX128), factors[0], pivots[0])


EQUATIONS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5, 3), (5, 2)), ((3, 5), (3, 2)), ((3, 3), (3, 2)), ((5, 3), (5,)), ((2, 5, 3), (2, 5, 2)), ((2, 5, 3), (2, 5)),
    ((2, 5, 3), (1, 5, 2)), ((1, 5, 3), (2, 5, 2)), ((5, 0), (5, 2)), ((0, 3), (0, 2)), ((0, 5, 3), (0, 5, 2)),
    ((5, 3), (4, 2)), ((5,), (5,)), ((5, 3), ()), ((5, 3), (2, 5, 2)),
)  # fmt: skip


def equations() -> Iterator[Sample]:
    for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
        for dtype in PRECISE:
            yield sample(make((5, 3), dtype), make((5, 2), dtype, seed=1), driver=driver)
        for first, second in EQUATIONS:
            yield sample(make(first, FLOAT64), make(second, FLOAT64, seed=1), driver=driver)
    yield sample(np.diag([1.0, 1e-3, 0]), make((3, 2), FLOAT64), driver="gelsd")
    yield sample(np.diag([1.0, 1e-3, 0]), make((3, 2), FLOAT64), 0.01, driver="gelss")
    yield sample(make((5, 3), FLOAT64), make((5, 2), FLOAT64), driver="x")
    yield sample(make((5, 3), FLOAT64), make((5, 2), FLOAT32))
    yield sample(make((5, 3), INT64), make((5, 2), INT64))


def exponents() -> Iterator[Sample]:
    for array in squares((*PRECISE, INT64)):
        yield sample(np.asarray(array / 4, array.dtype) if array.dtype.kind in "fc" else array)
    yield sample(np.array([[0.0, 30], [-30, 0]]))
    yield sample(np.array([[np.inf, 0], [0, 1.0]]))


def bases() -> Iterator[Sample]:
    for dtype in (*PRECISE, INT64, INT32, BOOL, FLOAT16):
        yield sample(make((3,), dtype))
        yield sample(make((2, 3), dtype), N=4)
    yield from (sample(make((3,), FLOAT64), N=N) for N in (-1, 0, 1, 2))
    yield from (sample(make(shape, FLOAT64), N=3) for shape in ((), (0,), (0, 2)))
    yield sample(make((1,), FLOAT64))


HERMITIAN = (((), {}), ((), {"hermitian": True}))

SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("linalg_householder_product", "orgqr"), reflections),
    "geqrf": each_of(matrices),
    "ormqr": reflected,
    "linalg_ldl_factor_ex": each_of(symmetric, *HERMITIAN),
    "linalg_ldl_factor": each_of(symmetric, *HERMITIAN),
    "linalg_ldl_solve": solved,
    "lu_unpack": unpacked,
    "lu_solve": solved_with_lu,
    "_lu_with_info": each_of(matrices, ((), {}), ((True, False), {})),
    "linalg_lstsq": equations,
    **dict.fromkeys(("linalg_matrix_exp", "matrix_exp"), exponents),
    "linalg_vander": bases,
}
