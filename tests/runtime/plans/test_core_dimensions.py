"""`rules.gufunc` and `rules.sized`: sizes of results by signatures and formulas, as NEP 20 has them and beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opwright import rules
from opwright.errors import DispatchError
from opwright.symbolic import ShapeEnv
from opwright_core.arrays.dtypes import float32, float64, int64


def shape(signature: str, *shapes: tuple[int, ...], **sizes: Any) -> tuple[int, ...]:
    """The shape that a gufunc plans for operands of these."""
    return tuple(rules.gufunc(signature, *map(np.empty, shapes), **sizes).shape)


@pytest.mark.parametrize(
    "signature, shapes, sizes, wanted",
    [
        ("(n)->(n+1)", [(3,)], {}, (4,)),
        ("(n)->(n+1)", [(2, 3)], {}, (2, 4)),
        ("(m)->(m,2)", [(5, 4)], {}, (5, 4, 2)),
        ("(n,d)->(n*(n-1)//2)", [(4, 3)], {}, (6,)),
        ("(n,d)->(p)", [(7, 4, 3)], {"p": "n*(n-1)//2"}, (7, 6)),
        ("(n,d)->(n,k)", [(4, 3)], {"k": 2}, (4, 2)),
        ("(n,d)->(p,p)", [(4, 3)], {"p": "2*n"}, (8, 8)),
        ("(n)->(m,-m+n)", [(7,)], {"m": 2}, (2, 5)),
        ("(n)->(n % 4)", [(7,)], {}, (3,)),
        ("(3),(3)->(3)", [(5, 3), (3,)], {}, (5, 3)),
        ("()->()", [(2,)], {}, (2,)),
        ("(n),(n|1)->()", [(4, 3), (4, 1)], {}, (4,)),
        ("(n|1),(n|1)->(n)", [(1,), (3,)], {}, (3,)),
        ("(n|1),(n|1)->(n)", [(1,), (1,)], {}, (1,)),
        ("(n),(m)->(n)", [(3,), (4,)], {"m": "n+1"}, (3,)),
        ("(m, k), (k, n) -> (m, n)", [(2, 3), (3, 4)], {}, (2, 4)),
    ],
)
def test_shapes(signature: str, shapes: list[tuple[int, ...]], sizes: Any, wanted: tuple[int, ...]) -> None:
    assert shape(signature, *shapes, **sizes) == wanted


@pytest.mark.parametrize("first", [(3,), (2, 3), (5, 2, 3)])
@pytest.mark.parametrize("second", [(3,), (3, 4), (5, 3, 4)])
def test_optional_dimensions_are_those_of_numpy(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """NumPy's `matmul` has this signature."""
    wanted = np.matmul(np.ones(first), np.ones(second)).shape
    assert np.matmul.signature == "(n?,k),(k,m?)->(n?,m?)"
    assert shape(np.matmul.signature, first, second) == wanted


@pytest.mark.parametrize(
    "signature, shapes, sizes, said",
    [
        ("(3)->()", [(4,)], {}, r"shapes 4 do not fit \(3\)->\(\): 4 is not 3"),
        ("(n),(n)->()", [(3,), (4,)], {}, "n is 3 and 4"),
        ("(n),(n|1)->()", [(3,), (4,)], {}, "n is 3 and 4"),
        ("(n),(n|1)->()", [(1,), (3,)], {}, "n is 1 and 3"),
        ("(n,d)->()", [(3,)], {}, "argument 0 must have at least 2 dimensions, but has 1"),
        ("(m?,n)->()", [()], {}, "argument 0 must have at least 1 dimension, but has 0"),
        ("(n)->(n-1)", [(0,)], {}, "the result would have the negative size -1"),
        ("(n)->(n//m)", [(4,)], {"m": 0}, "a size is divided by 0"),
        ("(n)->(p)", [(4,)], {}, "the size 'p' of the result is not known: say p=…"),
        ("(n?)->(n+1)", [()], {}, "the size 'n' of the result is missing"),
        ("(n),(m)->(n)", [(3,), (5,)], {"m": "n+1"}, "m is 5, and has to be 4"),
        ("(n)->(n)", [(3,), (3,)], {}, "has 1 operands, and 2 are given"),
    ],
)
def test_what_does_not_fit_is_said(signature: str, shapes: Any, sizes: Any, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        shape(signature, *shapes, **sizes)


@pytest.mark.parametrize("signature", ["(n", "(n)", "(n)->", "n->n", "(n!)->()", "(n)->(n/2)", "(n)->(f(n))", "->(n)"])
def test_what_is_no_signature(signature: str) -> None:
    with pytest.raises(ValueError, match="is no "):
        shape(signature, (3,))


def test_symbolic_sizes() -> None:
    env = ShapeEnv()
    n, d = env.create_symbol(4), env.create_symbol(3)
    plan = rules.gufunc("(n,d)->(n*(n-1)//2)", Like((n, d)))
    assert "//" in str(plan.shape[0]) and int(plan.shape[0]) == 6
    assert int(rules.sized([n - 1], Like((n, d))).shape[0]) == 3


class Like:
    """What a rule reads of an operand."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.shape, self.dtype, self.ndim = shape, float64, len(shape)


def test_sized_takes_dtype_and_device_of_its_operands() -> None:
    values, counts = np.empty(4, float32), np.empty((2, 3), int64)
    plan = rules.sized([5, 2], values)
    assert (plan.shape, plan.strides, plan.dtype, str(plan.device)) == ((5, 2), (2, 1), float32, "cpu")
    assert plan.operands == (values,)
    both = rules.sized(7, values, counts)
    assert (both.shape, both.dtype, both.operands[1].dtype) == ((7,), float32, float32)
    assert rules.sized([1], counts, dtype=float64).dtype is float64
    assert rules.sized([1], values, 2.5).dtype is float32
    half = rules.sized([1], np.empty(2, np.float16))
    assert (half.dtype.name, half.compute) == ("float16", float32)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        rules.sized([-1], values)
    with pytest.raises(DispatchError, match="not implemented for int64"):
        rules.sized([1], counts, accepts="floating")
