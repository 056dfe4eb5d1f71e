"""Custom operators that take values of enumerations, and generators."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import Library, custom_op


class Power(enum.Enum):
    ONE = 1
    TWO = 2


class Level(enum.IntEnum):
    LOW = 3


class Bits(enum.Flag):
    A = 1
    B = 2


@custom_op("tests_kinds::raised", mutates_args=())
def raised(x: Tensor, power: Power) -> Tensor:
    return opwright.full_like(x, 0) + x**power.value


raised.register_fake(lambda x, power: opwright.empty_like(x))
raised.register_autograd(
    lambda ctx, grad: (grad * ctx.power.value * ctx.saved_tensors[0] ** (ctx.power.value - 1), None),
    setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]), setattr(ctx, "power", inputs[1])),
)


def test_a_call() -> None:
    x = opwright.tensor([1.0, 3.0])
    assert raised(x, Power.TWO).tolist() == [1.0, 9.0]
    assert raised(x, power=Power.ONE).tolist() == [1.0, 3.0]
    assert raised(np.array([2.0]), Level.LOW).tolist() == [8.0]
    assert opwright.ops.tests_kinds.raised(x, Power.TWO).tolist() == [1.0, 9.0]


def test_gradients_and_checks() -> None:
    x = opwright.tensor([1.0, 3.0], dtype=opwright.float64, requires_grad=True)
    assert opwright.autograd.grad(raised(x, Power.TWO).sum(), x)[0].tolist() == [2.0, 6.0]
    assert set(opwright.library.opcheck(raised, (x, Power.TWO)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("value", [Power.TWO, Level.LOW, Bits.A, Bits.A | Bits.B])
@pytest.mark.parametrize("mode", ["real", "fake"])
def test_a_graph(value: enum.Enum, mode: str) -> None:
    graph = make_fx(lambda x: raised(x, value), tracing_mode=mode)(opwright.ones(2))
    (node,) = [each for each in graph.graph.nodes if each.op == "call_function"]
    assert node.args[1] is value
    if value.name and "|" not in value.name:
        assert f"{type(value).__name__}.{value.name}" in graph.code
        assert graph(opwright.tensor([2.0])).tolist() == [2.0**value.value]


def test_lists_and_none() -> None:
    library = Library("tests_kinds", "FRAGMENT")
    library.define("named(Tensor x, enum.Enum[] each, enum.Enum? one=None) -> str")
    library.impl(
        "named", lambda x, each, one=None: " ".join(item.name for item in [*each, *([one] if one else [])]), "CPU"
    )
    x = opwright.ones(1)
    assert opwright.ops.tests_kinds.named(x, [Power.ONE, Level.LOW]) == "ONE LOW"
    assert opwright.ops.tests_kinds.named(x, [], Power.TWO) == "TWO"


def test_generators() -> None:
    @custom_op("tests_kinds::shifted", mutates_args=())
    def shifted(x: Tensor, *, generator: opwright.Generator | None = None) -> Tensor:
        return x + opwright.rand(x.shape, generator=generator)

    drawn = [shifted(opwright.zeros(3), generator=opwright.Generator().manual_seed(4)) for _ in range(2)]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert shifted(opwright.zeros(3)).shape == (3,)
    with pytest.raises(opwright.ArgumentError, match=r"expected Generator\? for argument 'generator'"):
        shifted(opwright.zeros(3), generator=4)
