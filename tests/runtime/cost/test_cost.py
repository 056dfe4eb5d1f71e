"""Costs of calls: what families, declarations and parts give, and the counter of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opwright
from opwright.cost.model import Cost
from opwright.errors import RegistrationError
from opwright.utils.flop_counter import FlopCounterMode, cost, gradient_cost, register_flop_formula


def f(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def test_of_an_operator_a_packet_and_a_function() -> None:
    wanted = Cost(2 * 20 * 30 * 40, 0, 4 * (600 + 1200), 4 * 800)
    assert opwright.ops.aten.mm.default.cost(f(20, 30), f(30, 40)) == wanted
    for each in (opwright.mm, opwright.ops.aten.mm, lambda a, b: a @ b):
        assert cost(each, f(20, 30), f(30, 40)) == wanted
    assert cost(lambda a, b: (a @ b).exp(), f(20, 30), f(30, 40)).flops >= wanted.flops
    assert str(wanted) == "48 kflop, 7.2 kB read, 3.2 kB written"


def test_no_array_is_made() -> None:
    huge = np.broadcast_to(np.float32(1), (10**6, 10**6))
    found = cost(opwright.mm, huge, huge)
    assert found.flops == 2 * 10**18 and found.read == 4 and found.written == 4 * 10**12


def test_gradients() -> None:
    product = 2 * 20 * 30 * 40
    assert gradient_cost(opwright.mm, f(20, 30), f(30, 40)).flops // product == 2
    assert gradient_cost(opwright.mm, f(20, 30), f(30, 40), wanted=[1]).flops // product == 1


def test_a_counter(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = opwright.tensor(f(2, 3)), opwright.tensor(f(3, 4))
    with FlopCounterMode() as counter:
        a @ b
        a.add_(1)
        opwright.mm(a, b, out=opwright.empty(2, 4))
    assert counter.get_flop_counts()["Global"]["aten::mm"] == 48
    assert counter.get_flop_counts()["Global"]["aten::mm.out"] == 48
    assert counter.costs["aten::add_.Scalar"] == Cost(6, 0, 24, 24)
    assert counter.get_total_flops() == counter.total.flops >= 102
    assert capsys.readouterr().out == counter.get_table() + "\n"
    with FlopCounterMode(display=False, custom_mapping={opwright.ops.aten.mm: lambda a, b, out_shape: 7}) as counter:
        a @ b
    assert counter.get_total_flops() == 7


def test_formulas_of_programs() -> None:
    @opwright.library.custom_op("cost_tests::twice", mutates_args=())
    def twice(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return 2 * x

    twice.register_fake(lambda x: opwright.empty_like(x))
    assert cost(twice, f(3, 4)).source == "bytes"
    register_flop_formula(twice)(lambda x, out_shape: out_shape[0])
    assert cost(twice, f(3, 4)) == Cost(3, 0, 48, 48)
    with pytest.raises(RuntimeError, match="has a formula already"):
        register_flop_formula(twice)(lambda x, out_shape: 1)
    with pytest.raises(ValueError, match="a formula is for an operator or a packet, got 3"):
        register_flop_formula([3])


def test_custom_operators_say_their_cost() -> None:
    meta, text = 'gufunc("(n,d),(m,d)->(n,m)", a, b)', "3 * n * m * d, transcendentals=n * m"

    @opwright.library.custom_op("cost_tests::apart", mutates_args=(), meta=meta, cost=text)
    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return np.sqrt(((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1))  # type: ignore[no-any-return]

    assert cost(apart, f(5, 4), f(7, 4)) == Cost(3 * 5 * 7 * 4, 5 * 7, 4 * (20 + 28), 4 * 35)
    assert cost(apart, f(6, 5, 4), f(7, 4)).flops == 6 * 3 * 5 * 7 * 4  # six batches
    schema = "(Tensor x) -> Tensor"
    with pytest.raises(RegistrationError, match="'k' is neither a dimension nor an argument"):
        opwright.library.custom_op("cost_tests::wrong", np.exp, mutates_args=(), schema=schema, cost="k")
    given = opwright.library.custom_op(
        "cost_tests::given", lambda x: x, mutates_args=(), schema=schema, cost=lambda x: x.shape[0]
    )
    given.register_fake(lambda x: opwright.empty_like(x))
    assert cost(given, f(5, 4)).flops == 5
