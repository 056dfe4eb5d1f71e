"""What operators on vectors and matrices are called with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    Sample,
    bfloat16,
    expanded,
    make,
    sample,
)

Samples = Callable[[], Iterable[Sample]]


def _matrices(first: tuple[int, ...], second: tuple[int, ...]) -> Iterator[Sample]:
    """Two factors of every dtype, transposed ones too."""
    for dtype in DTYPES:
        yield sample(make(first, dtype), make(second, dtype, seed=1))
    for dtype in (FLOAT32, INT64, bfloat16):
        left, right = make(first[::-1], dtype).T, make(second[::-1], dtype, seed=1).T
        yield sample(left, right)
    yield sample(make((*first[:-1], 0), FLOAT32), make(tuple(0 if n == first[-1] else n for n in second), FLOAT32))
    yield sample(make(first, FLOAT32), make(second, FLOAT64))
    yield sample(make(first, FLOAT32), make((*second[:-1], 7) if len(second) > 1 else (9,), FLOAT32))
    yield sample(make(first, FLOAT32), make((7, 7), FLOAT32))
    yield sample(make((3,), FLOAT32), make((2, 2, 2, 2), FLOAT32))


def matmul() -> Iterator[Sample]:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 4)),
        ((2, 3), (4, 5)),
        ((), (3,)),
        ((2, 2, 3), (3, 3, 4)),
    ]
    for dtype in (FLOAT32, INT64, bfloat16, np.dtype("complex128")):
        yield from (sample(make(first, dtype), make(second, dtype, seed=1)) for first, second in shapes)
    yield sample(make((4, 2, 3), FLOAT32).transpose(2, 0, 1), make((2, 5), FLOAT32))
    yield sample(expanded(make((2, 3), FLOAT32), (4, 2, 3)), make((4, 3, 2), FLOAT32))
    yield sample(make((2, 3), FLOAT32), make((3, 4), FLOAT64))


def added(shape: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> Iterator[Sample]:
    """A product of every dtype and something added to it, which broadcasts or does not."""
    for each in _matrices(first, second):
        left, right = each.args
        yield sample(make(shape, left.dtype, seed=2), left, right)
    left, right = make(first, FLOAT32), make(second, FLOAT32, seed=1)
    for size in (shape[-1:], (1,), (), (*shape[:-1], 1), (1, *shape), (*shape[:-1], 9), (7,)):
        yield sample(make(size, FLOAT32), left, right, beta=0.5, alpha=2)
    yield sample(make(shape[::-1], FLOAT32).T, left, right, beta=2)
    yield sample(np.full(shape, np.nan, np.float32), left, right, beta=0)
    yield sample(np.full(shape, np.nan, np.float32), left, right, beta=0, alpha=3)
    yield sample(make(shape, FLOAT64), left, right)
    for dtype in (INT32, INT64):
        yield sample(make(shape, dtype), make(first, dtype), make(second, dtype), beta=2, alpha=3)
    yield sample(make(shape, COMPLEX64), make(first, COMPLEX64), make(second, COMPLEX64), beta=2j, alpha=1 - 1j)
    yield sample(make(shape, bfloat16), make(first, bfloat16), make(second, bfloat16), beta=0.5, alpha=3)


def addr() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype), make((3,), dtype, seed=1), make((4,), dtype, seed=2))
        yield sample(make((3, 4), dtype), make((3,), dtype, seed=1), make((4,), dtype, seed=2), beta=2, alpha=3)
    first, second = make((3,), FLOAT32), make((8,), FLOAT32)[::2]
    for size in ((), (4,), (1,), (3, 1), (5,), (1, 3, 4), (0, 4)):
        yield sample(make(size, FLOAT32), first, second, beta=0.5)
    yield sample(make((4, 3), FLOAT32).T, first, second)
    yield sample(make((3, 4), FLOAT32), make((3,), INT32), make((4,), FLOAT64))
    yield sample(np.full((3, 4), np.nan, np.float32), first, second, beta=0)
    yield sample(make((3, 4), FLOAT32), make((3, 1), FLOAT32), second)
    yield sample(make((3, 4), INT32), make((3,), INT32), make((4,), INT32), beta=1.5)
    yield sample(make((3, 4), BOOL), make((3,), BOOL), make((4,), BOOL), beta=0)
    yield sample(make((0, 4), FLOAT32), make((0,), FLOAT32), second)


def pairs_of(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Iterator[Sample]:
    """Two arrays of these shapes, in some dtypes and layouts."""
    for dtype in DTYPES:
        yield from (sample(make(a, dtype), make(b, dtype, seed=1)) for a, b in shapes[:1])
    for dtype in (FLOAT32, INT64, COMPLEX128):
        yield from (sample(make(a, dtype), make(b, dtype, seed=1)) for a, b in shapes[1:])
    for a, b in shapes:
        yield sample(make(a[::-1], FLOAT32).T, make(b[::-1], FLOAT32, seed=1).T)
        yield sample(make((*a, 2), FLOAT32)[..., 0], make((*b, 2), FLOAT32, seed=1)[..., 1])
        yield sample(make(a, FLOAT32), make(b, FLOAT64, seed=1))


def kron() -> Iterator[Sample]:
    yield from pairs_of(((3, 4), (2, 2)), ((3,), (2, 2)), ((), (2, 3)), ((0, 3), (2, 2)), ((1, 3), (2, 2)))
    yield sample(make((2, 2, 3), FLOAT32), make((3, 2), FLOAT32))


def cross(dim: bool) -> Iterator[Sample]:
    for each in pairs_of(
        ((4, 3), (4, 3)), ((4, 3), (1, 3)), ((3,), (3,)), ((2, 3, 4), (2, 3, 4)), ((3, 4), (3, 4)), ((4, 4), (4, 4)),
        ((0, 3), (0, 3)), ((3,), (4, 3)), ((), ()),
    ):  # fmt: skip
        yield each
        if dim:
            yield from (sample(*each.args, dim=place) for place in (0, 1, 5))
        else:
            yield from (sample(*each.args, place) for place in (None, 0, -1, 5))


def vecdot() -> Iterator[Sample]:
    for each in pairs_of(
        ((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (4,)), ((3, 4), (3, 5)), ((), (3, 5)), ((3, 0), (3, 0))
    ):
        yield each
        yield from (sample(*each.args, dim=dim) for dim in (0, -2, 4))


def tensordot() -> Iterator[Sample]:
    first, second = (2, 3, 4), (4, 3, 5)
    for dtype in DTYPES:
        yield sample(make(first, dtype), make(second, dtype, seed=1), [2, 1], [0, 1])
    for a, b, left, right in (
        (first, second, [1, 2], [1, 0]),
        (first, second, [-1], [0]),
        (first, second, [], []),
        (first, (4, 1, 5), [2, 1], [0, 1]),
        (first, (2, 3, 4), [0, 1, 2], [0, 1, 2]),
        ((2, 3), (2, 3), [0, 0], [0, 1]),
        ((2, 3), (2, 3), [0, 0], [0, 0]),
        ((2, 3), (2, 3), [0], [1]),
        ((2, 3), (2, 3), [0], [1, 0]),
        ((2, 3), (2, 3), [5], [1]),
        ((3, 0), (0, 4), [1], [0]),
        ((3,), (3,), [0], [0]),
        ((), (), [], []),
        ((1, 3), (4, 3), [0], [0]),
    ):
        yield sample(make(a, FLOAT32), make(b, FLOAT32, seed=1), left, right)
        yield sample(make(a[::-1], INT32).T, make(b, INT32, seed=1), left, right)
    yield sample(make((2, 3), FLOAT32), make((3, 2), FLOAT64), [1], [0])


EQUATIONS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ij,jk->ki", ((2, 3), (3, 4))),
    ("bij,bjk->bik", ((5, 2, 3), (5, 3, 4))), ("bij,bjk->ikb", ((5, 2, 3), (5, 3, 4))), ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)), ("ij->ji", ((2, 3),)), ("ij->", ((2, 3),)), ("ij->i", ((2, 3),)), ("i,i", ((3,), (3,))),
    ("i,j->ij", ((3,), (4,))), ("i,i->i", ((3,), (3,))), ("...ij,...jk->...ik", ((5, 2, 3), (3, 4))),
    ("...ij->...ji", ((5, 2, 3),)), ("...", ((2, 3),)), ("iij->j", ((3, 3, 2),)),
    ("...i,...i->...", ((5, 1, 3), (2, 3))), ("abs,scd->cdba", ((2, 3, 4), (4, 5, 6))),
    ("eas,esc->cae", ((2, 3, 4), (2, 4, 5))),
    ("ijj,jk->ik", ((2, 3, 3), (3, 4))), ("Ba,aB->aB", ((3, 2), (2, 3))), ("Ba", ((3, 2),)), ("ba", ((3, 2),)),
    ("bi,oij,bj->bo", ((2, 3), (5, 3, 4), (2, 4))), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
    ("ij,kj->ik", ((2, 1), (4, 3))), ("ijk,ilm,njm,nlk,abc->", ((2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4), (1, 2, 3))),
    ("b...d,...d->b...", ((5, 2, 4), (2, 4))), ("i...->...", ((2, 3, 4),)), ("...i->i", ((2, 3),)),
    ("ab,cd,ef->abcdef", ((2, 1), (3, 1), (2, 2))), ("i,", ((3,), ())), (",", ((), ())), ("", ((),)), ("->", ((),)),
    ("ij,ij->ij", ((2, 3), (1, 3))), ("ij, jk -> ik", ((0, 3), (3, 2))), ("ij,jk->ik", ((2, 0), (0, 4))),
    ("iijj->ij", ((2, 2, 3, 3),)), ("...ii->...i", ((4, 3, 3),)), ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
    ("ij,jk->ik", ((2, 3), (4, 5))), ("ij,jk->ii", ((2, 3), (3, 5))), ("ij,jk->im", ((2, 3), (3, 5))), ("ij", ((2,),)),
    ("ij,j", ((2, 3),)), ("ij", ((2, 3), (3,))), ("i1", ((2, 3),)), ("ii", ((2, 3),)), ("i..j", ((2, 3),)),
    ("...i...", ((2, 3),)), ("...ijk", ((2, 3),)), ("i->->i", ((2,),)), ("ij->i...", ((2, 3),)), ("i->j", ((2,),)),
)  # fmt: skip


def einsum() -> Iterator[Sample]:
    for equation, shapes in EQUATIONS:
        yield sample(equation, [make(shape, FLOAT32, seed=place) for place, shape in enumerate(shapes)])
        yield sample(equation, [make(shape[::-1], INT64, seed=place).T for place, shape in enumerate(shapes)])
    for dtype in DTYPES:
        yield sample("ij,jk->ik", [make((2, 3), dtype), make((3, 4), dtype, seed=1)])
        yield sample("ij->j", [make((2, 3), dtype)])
        yield sample("ij,ij->ij", [make((2, 3), dtype), make((2, 3), dtype, seed=1)])
    chain = [make(shape, FLOAT32) for shape in ((2, 3), (3, 4), (4, 5), (5, 2))]
    for path in (
        [1, 2, 0, 1, 0, 1],
        [2, 3, 1, 2, 0, 1],
        [3, 0, 2, 0, 1, 0],
        [0, 0, 1, 2, 0, 1],
        [0, 1],
        [0, 9, 0, 1, 0, 1],
    ):
        yield sample("ij,jk,kl,lm->im", chain, path=path)
    yield sample("ij,jk", [make((2, 3), FLOAT32), make((3, 4), FLOAT64)])
    yield sample("ij", [])


def chains() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample([make((2, 3), dtype), make((3, 4), dtype, seed=1), make((4, 2), dtype, seed=2)])
    for shapes in (
        ((2, 3), (3, 4)), ((3, 4),), ((10, 2), (2, 20), (20, 1), (1, 30)), ((2, 3), (3, 4), (5, 2)), ((2, 0), (0, 3)),
        ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3, 4), (4,)), ((3,), (3,)), ((3,),), ((2, 3, 4), (4,)),
        ((3, 3), (3,), (3, 3)), ((3,), (3, 4), (5,)),
    ):  # fmt: skip
        yield sample([make(shape, FLOAT32, seed=place) for place, shape in enumerate(shapes)])
    yield sample([make((2, 3), FLOAT32), make((3, 4), FLOAT64)])
    yield sample([make((3, 2), FLOAT32).T, make((4, 3), FLOAT32).T])


def squares(dtypes: tuple[np.dtype, ...] = DTYPES, size: int = 3) -> Iterator[np.ndarray]:
    """Square matrices that are well-conditioned, in every dtype; batches, transposed and empty ones in float32."""
    for dtype in dtypes:
        yield (make((size, size), dtype) + 4 * np.eye(size, dtype=dtype)).astype(dtype)
    for shape in ((2, size, size), (2, 1, size, size), (0, 0), (2, 0, 0), (0, size, size), (1, 1), (7, 7)):
        square = (make(shape, FLOAT32) + 9 * np.eye(shape[-1])).astype(FLOAT32)
        yield square
        yield square.swapaxes(-1, -2)
    yield make((2, size, size, 2), FLOAT64)[..., 0]
    yield make((size, 4), FLOAT32)
    yield make((size,), FLOAT32)
    yield make((), FLOAT32)


def matrix_power() -> Iterator[Sample]:
    for square in squares():
        yield from (sample(square, n) for n in (0, 1, 2, 3, 5))


def trace() -> Iterator[Sample]:
    yield from (sample(square) for square in squares())
    yield sample(make((3, 4), FLOAT32).T)
    yield sample(make((0, 4), INT32))


def diagonal() -> Iterator[Sample]:
    for shape in ((3, 4), (2, 3, 4), (3,)):
        yield sample(make(shape, FLOAT32))
        yield sample(make(shape, FLOAT32), offset=1)
        yield sample(make(shape, FLOAT32), dim1=0, dim2=1)


PRECISE = (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128)


def matrices() -> Iterator[np.ndarray]:
    """Matrices of any shape, in the dtypes of decompositions and in others."""
    for dtype in PRECISE:
        for shape in ((3, 3), (5, 3), (3, 5), (2, 5, 3), (2, 3, 5)):
            yield make(shape, dtype)
    yield make((4, 6), FLOAT64).T
    yield make((2, 4, 6, 2), FLOAT64)[..., 0]
    for empty in ((0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 5, 3)):
        yield make(empty, FLOAT32)
    for dtype in (BOOL, INT64, FLOAT16, bfloat16):
        yield make((3, 3), dtype)
    yield make((3,), FLOAT32)
    yield make((), FLOAT64)


SINGULAR = np.stack([np.eye(3), np.zeros((3, 3)), np.diag([1.0, 0.0, 2.0])])


def regular() -> Iterator[np.ndarray]:
    """Square matrices, some of them singular."""
    yield from squares()
    for dtype in (FLOAT32, COMPLEX128):
        yield SINGULAR.astype(dtype)
        yield from SINGULAR.astype(dtype)
    yield make((30, 30), FLOAT64) + 9 * np.eye(30)
    yield make((2, 50, 50), FLOAT64) + 9 * np.eye(50)


def positive(dtypes: tuple[np.dtype, ...] = PRECISE) -> Iterator[np.ndarray]:
    """Matrices that are positive-definite, and some that are not."""
    for array in regular():
        if array.ndim > 1 and array.shape[-1] == array.shape[-2] and array.dtype in dtypes:
            yield (array @ array.conj().swapaxes(-1, -2) + np.eye(array.shape[-1])).astype(array.dtype)
    yield from squares()
    yield SINGULAR
    yield np.array([[4.0, 2, 1], [2, 1, 7], [1, 7, 3]])
    yield np.array([[4.0, 2, 1], [9, 5, 1], [9, 9, 30]])


def factors() -> Iterator[np.ndarray]:
    """What may be a Cholesky factor: its diagonal is real."""
    for array in positive():
        is_complex = array.dtype.kind == "c" and array.ndim > 1
        yield array - 1j * np.diag(np.diagonal(array).imag).astype(array.dtype) if is_complex else array


def each_of(found: Callable[[], Iterable[np.ndarray]], *calls: tuple[tuple[object, ...], dict[str, object]]) -> Samples:
    """A sample for each array and each of these further arguments."""

    def samples() -> Iterator[Sample]:
        for array in found():
            yield from (sample(array, *args, **kwargs) for args, kwargs in calls or (((), {}),))

    return samples


SYSTEMS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)),
    ((2, 3, 3), (2, 3, 2)), ((1, 3, 3), (4, 3, 2)), ((4, 3, 3), (1, 3)), ((3, 3), (4, 3)), ((3, 3), (4, 3, 2)),
    ((0, 0), (0,)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (0, 3)), ((0, 3, 3), (0, 3, 2)), ((3, 4), (3,)),
    ((3,), (3,)), ((3, 3), ()), ((3, 3), (4,)), ((2, 3, 3), (5, 3, 2)), ((30, 30), (30, 4)), ((3, 3), (2, 3)),
)  # fmt: skip


def systems(*, triangular: str = "", options: tuple[dict[str, object], ...] = ({},)) -> Iterator[tuple[Sample, dict]]:
    """Coefficients and right sides; the coefficients are triangles where `triangular` says which."""
    for dtype in DTYPES:
        yield from ((sample(make((3, 3), dtype), make((3, 2), dtype, seed=1)), each) for each in options)
    for shape, other in SYSTEMS:
        array = make(shape, FLOAT64)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            array += 9 * np.eye(shape[-1])
        for view in (array, np.asfortranarray(array)):
            yield from ((sample(view, make(other, FLOAT64, seed=1)), each) for each in options)
    yield from ((sample(SINGULAR, make((3, 2), FLOAT64)), each) for each in options)
    yield from ((sample(make((3, 3), FLOAT32), make((3, 2), FLOAT64)), each) for each in options)


def solved(*options: dict[str, object]) -> Samples:
    def samples() -> Iterator[Sample]:
        for each, kwargs in systems(options=options):
            yield sample(*each.args, **kwargs)

    return samples


def triangles(swap: bool, *options: dict[str, object]) -> Samples:
    """Triangular systems; the right side comes first where `swap`."""

    def samples() -> Iterator[Sample]:
        for each, kwargs in systems(options=options):
            first, second = each.args
            if first.dtype == FLOAT32 and second.dtype == FLOAT32 and first.shape == (3, 3):
                first = (first + 9 * np.eye(3)).astype(FLOAT32)
            yield sample(*((second, first) if swap else (first, second)), **kwargs)

    return samples


def factored() -> Iterator[Sample]:
    for dtype in PRECISE:
        pivots = np.array([2, 3, 3], np.int32)
        factors = (make((3, 3), dtype) + 5 * np.eye(3)).astype(dtype)
        for left in (True, False):
            right = make((3, 2) if left else (2, 3), dtype)
            yield from (sample(factors, pivots, right, left=left, adjoint=adjoint) for adjoint in (False, True))
            yield sample(factors, pivots, make((4, *right.shape), dtype), left=left)
    yield sample(factors, pivots.astype(np.int64), right)
    yield sample(factors, pivots[:2], right)
    yield sample(make((0, 0), FLOAT32), np.zeros(0, np.int32), make((0, 2), FLOAT32))


def tensor_inverses() -> Iterator[Sample]:
    yield from (sample(make(shape, FLOAT64), ind) for shape, ind in (
        ((4, 6, 8, 3), 2), ((2, 3, 6), 2), ((6, 3, 2), 1), ((4, 6, 8, 3), 0), ((4, 6, 8, 3), 3),
    ))  # fmt: skip
    yield sample(np.zeros((4, 2, 2)), 1)


def tensor_systems() -> Iterator[Sample]:
    yield sample(make((2, 3, 6), FLOAT64), make((2, 3), FLOAT64))
    yield sample(make((2, 6, 3), FLOAT64), make((3, 2), FLOAT64), [1])
    yield sample(make((2, 6, 3), FLOAT64), make((2, 3), FLOAT64), [1])
    yield sample(make((3, 4), FLOAT64), make((3,), FLOAT64))
    yield sample(np.zeros((4, 2, 2)), make((4,), FLOAT64))


def tolerances(tensors: bool) -> Iterator[Sample]:
    for array in (*matrices(), np.ones((4, 4)), np.diag([1.0, 1e-3, 0, 1e-9])):
        bounds = (None, np.array(0.01, FLOAT64), np.array(0.5, FLOAT64)) if tensors else (None, 0.01, 0.5)
        for atol in bounds:
            for rtol in bounds:
                if array.ndim < 3 or not tensors:
                    yield sample(array, atol=atol, rtol=rtol)
    symmetric = np.diag([1.0, -3, 1e-3]) + 0.5
    for bound in (None, np.array(0.01) if tensors else 0.01):
        yield sample(symmetric, atol=bound, rtol=None, hermitian=True)
        yield sample(make((2, 3), FLOAT64), atol=bound, rtol=None, hermitian=True)


def one_tolerance(tensor: bool) -> Iterator[Sample]:
    for array in (*matrices(), np.ones((4, 4)), np.diag([1.0, 1e-3, 0, 1e-9])):
        if array.ndim < 3 or not tensor:
            yield sample(array, np.array(0.01, FLOAT64) if tensor else 0.01)
    yield sample(np.diag([1.0, -3, 1e-3]), np.array(0.01) if tensor else 0.01, True)


NUMBERS = (1, -1, 2, -2, np.inf, -np.inf, 3)
NAMES = ("fro", "nuc", "x")


def matrix_norms(orders: tuple[object, ...]) -> Iterator[Sample]:
    for array in matrices():
        yield from (sample(array, order) for order in orders)
    array = make((2, 3, 4), FLOAT32)
    for order in orders:
        yield from (sample(array, order, dims, keep) for dims in ([0, 2], [2, 0], [-1, 1]) for keep in (False, True))
        yield sample(array, order, [0, 0])
        yield sample(array, order, [0])
        yield sample(array, order, dtype=FLOAT64)


def norms(orders: tuple[object, ...]) -> Iterator[Sample]:
    for array in (*matrices(), make((4,), FLOAT64), make((2, 3, 4), FLOAT64)):
        yield from (sample(array, order) for order in orders)
    for order in orders:
        array = make((2, 3, 4), FLOAT32)
        yield from (sample(array, order, dims, keep) for dims in ([1], [0, 2], [0, 1, 2]) for keep in (False, True))


def nuclear_norms() -> Iterator[Sample]:
    array = make((2, 3, 4), FLOAT32)
    yield from (sample(array, dims, keep) for dims in ([0, 2], [2, 1], [0, 0]) for keep in (False, True))


def conditions(orders: tuple[object, ...]) -> Iterator[Sample]:
    for array in (*regular(), make((3, 5), FLOAT64)):
        yield from (sample(array, order) for order in orders)


def distances(*modes: int | None) -> Iterator[Sample]:
    for first, second in (
        ((3, 4), (5, 4)), ((2, 3, 4), (2, 5, 4)), ((2, 1, 3, 4), (6, 5, 4)), ((3, 0), (5, 0)), ((0, 4), (5, 4)),
        ((3, 4), (5, 3)), ((30, 4), (28, 4)), ((2, 30, 4), (1, 3, 4)),
    ):  # fmt: skip
        for mode in modes:
            for p in (2.0, 1.0, 0.0, float("inf"), 3.0, -1.0):
                yield sample(make(first, FLOAT32), make(second, FLOAT32, seed=1), p, mode)
    for dtype in DTYPES:
        yield sample(make((3, 4), dtype), make((5, 4), dtype), 2.0, None)
    yield sample(make((3, 4), FLOAT32), make((5, 4), FLOAT64), 2.0, None)
    yield sample(make((4, 3), FLOAT64).T, make((5, 4), FLOAT64), 2.0, None)


def points() -> Iterator[Sample]:
    for first, second in (((3, 4), (5, 4)), ((2, 30, 4), (2, 5, 4))):
        for dtype in (FLOAT32, FLOAT64):
            yield sample(make(first, dtype), make(second, dtype, seed=1))


LEFT = ({}, {"left": False})
TRIANGLES = tuple(
    {"upper": upper, "left": left, "unitriangular": unit}
    for upper in (True, False) for left in (True, False) for unit in (False, True)
)  # fmt: skip


SAMPLES: dict[str, Samples] = {
    "linalg_matrix_norm": partial(matrix_norms, NUMBERS),
    "linalg_matrix_norm.str_ord": partial(matrix_norms, NAMES),
    "linalg_norm": partial(norms, (*NUMBERS, None)),
    "linalg_norm.ord_str": partial(norms, NAMES),
    "nuclear_norm": each_of(matrices, ((), {}), ((True,), {})),
    "nuclear_norm.dim": nuclear_norms,
    "linalg_cond": partial(conditions, (*NUMBERS, None)),
    "linalg_cond.p_str": partial(conditions, NAMES),
    "cdist": partial(distances, None, 0, 1, 2, 5),
    "_cdist_forward": partial(distances, None),
    "_euclidean_dist": points,
    "linalg_inv_ex": each_of(regular, ((), {}), ((), {"check_errors": True})),
    **dict.fromkeys(
        (
            "linalg_inv",
            "inverse",
            "_linalg_det",
            "linalg_det",
            "det",
            "_linalg_slogdet",
            "linalg_slogdet",
            "slogdet",
            "logdet",
            "linalg_eig",
            "_linalg_eigvals",
            "linalg_eigvals",
        ),
        each_of(regular),
    ),
    **dict.fromkeys(("_linalg_solve_ex", "linalg_solve_ex", "linalg_solve"), solved(*LEFT)),
    "linalg_solve_triangular": triangles(False, *TRIANGLES),
    "triangular_solve": triangles(True, {}, {"upper": False}, {"transpose": True}, {"unitriangular": True}),
    "cholesky_solve": triangles(True, {}, {"upper": True}),
    "cholesky_inverse": each_of(factors, ((), {}), ((True,), {})),
    "linalg_lu_solve": factored,
    "linalg_tensorinv": tensor_inverses,
    "linalg_tensorsolve": tensor_systems,
    "linalg_lu_factor_ex": each_of(matrices, ((), {}), ((), {"pivot": False}), ((), {"check_errors": True})),
    **dict.fromkeys(("linalg_lu_factor", "linalg_lu"), each_of(matrices, ((), {}), ((), {"pivot": False}))),
    "linalg_cholesky_ex": each_of(positive, ((), {}), ((), {"upper": True}), ((), {"check_errors": True})),
    "linalg_cholesky": each_of(positive, ((), {}), ((), {"upper": True})),
    "cholesky": each_of(positive, ((), {}), ((True,), {})),
    "linalg_qr": each_of(matrices, *(((mode,), {}) for mode in ("reduced", "complete", "r", "x"))),
    "qr": each_of(matrices, ((), {}), ((False,), {})),
    "linalg_matrix_sqrth": each_of(positive),
    "_linalg_eigh": each_of(positive, ((), {}), (("U",), {}), (("L", False), {}), (("x",), {})),
    **dict.fromkeys(("linalg_eigh", "linalg_eigvalsh"), each_of(positive, ((), {}), (("U",), {}), (("l",), {}))),
    "_linalg_svd": each_of(matrices, ((), {}), ((True,), {}), ((False, False), {})),
    "linalg_svd": each_of(matrices, ((), {}), ((False,), {}), ((), {"driver": "gesvd"})),
    "linalg_svdvals": each_of(matrices),
    "svd": each_of(matrices, ((), {}), ((False,), {}), ((True, False), {})),
    "linalg_polar": each_of(matrices),
    "linalg_pinv.atol_rtol_tensor": partial(tolerances, True),
    "linalg_pinv.atol_rtol_float": partial(tolerances, False),
    "linalg_pinv": partial(one_tolerance, False),
    "linalg_pinv.rcond_tensor": partial(one_tolerance, True),
    "pinverse": each_of(matrices, ((), {}), ((0.1,), {})),
    "linalg_matrix_rank.atol_rtol_tensor": partial(tolerances, True),
    "linalg_matrix_rank.atol_rtol_float": partial(tolerances, False),
    "linalg_matrix_rank": partial(one_tolerance, False),
    "linalg_matrix_rank.tol_tensor": partial(one_tolerance, True),
    "mm": partial(_matrices, (2, 3), (3, 4)),
    "bmm": partial(_matrices, (5, 2, 3), (5, 3, 4)),
    "mv": partial(_matrices, (2, 3), (3,)),
    **dict.fromkeys(("dot", "vdot"), partial(_matrices, (3,), (3,))),
    **dict.fromkeys(("matmul", "linalg_matmul"), matmul),
    "linalg_vecdot": vecdot,
    **dict.fromkeys(("outer", "ger"), partial(pairs_of, ((3,), (4,)), ((0,), (4,)), ((3, 1), (4,)), ((3,), ()))),
    "inner": partial(
        pairs_of, ((3, 4), (5, 4)), ((4,), (4,)), ((), (5, 4)), ((2, 3, 4), (5, 6, 4)), ((3, 4), (5, 3)), ((3, 0), (0,))
    ),
    "tensordot": tensordot,
    "einsum": einsum,
    "kron": kron,
    **dict.fromkeys(("chain_matmul", "linalg_multi_dot"), chains),
    **dict.fromkeys(("linalg_matrix_power", "matrix_power"), matrix_power),
    "linalg_cross": partial(cross, True),
    "cross": partial(cross, False),
    "addmm": partial(added, (2, 4), (2, 3), (3, 4)),
    "addmv": partial(added, (2,), (2, 3), (3,)),
    "baddbmm": partial(added, (5, 2, 4), (5, 2, 3), (5, 3, 4)),
    "addbmm": partial(added, (2, 4), (5, 2, 3), (5, 3, 4)),
    "addr": addr,
    "trace": trace,
    "linalg_diagonal": diagonal,
}
