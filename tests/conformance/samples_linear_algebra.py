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


SAMPLES: dict[str, Samples] = {
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
