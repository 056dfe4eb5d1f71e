"""`meta=` of custom operators gives their batching rules, too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.library import custom_op, register_meta


@pytest.fixture(autouse=True)
def no_loops() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_elementwise() -> None:
    shapes = []

    @custom_op("formulas::hypotenuse", mutates_args=(), meta="pointwise(x, y)")
    def hypotenuse(x: np.ndarray, y: np.ndarray, scale: float = 1.0) -> np.ndarray:  # type: ignore[type-arg]
        shapes.append((x.shape, y.shape))
        return np.hypot(x, y) * scale

    x, y = opwright.randn(3, 4), opwright.randn(3)
    found = opwright.vmap(lambda a, b: hypotenuse(a, b, scale=2.0))(x, y)
    assert opwright.allclose(found, 2 * opwright.hypot(x, y.unsqueeze(1)))
    assert shapes == [((3, 4), (3, 1))]  # one call
    nested = opwright.vmap(opwright.vmap(hypotenuse, in_dims=(0, None)), in_dims=(1, 0))(opwright.ones(4, 3), y)
    assert nested.shape == (3, 4)


def test_along_a_dimension() -> None:
    @custom_op("formulas::total", mutates_args=(), meta="reduce(x, dim)")
    def total(x: np.ndarray, dim: int) -> np.ndarray:  # type: ignore[type-arg]
        return np.asarray(x.sum(dim))

    x = opwright.randn(2, 3, 4)
    for dim in (0, 1, -1):
        expected = opwright.stack([each.sum(dim) for each in x.unbind(1)])
        assert opwright.allclose(opwright.vmap(lambda each: total(each, dim), in_dims=1)(x), expected)  # noqa: B023
    assert opwright.vmap(lambda each: total(each, 0))(opwright.ones(3)).tolist() == [1, 1, 1]


def test_registered_later_and_taken_by_a_rule_of_ones_own() -> None:
    @custom_op("formulas::scaled", mutates_args=())
    def scaled(x: opwright.Tensor, by: float) -> opwright.Tensor:
        return x * by

    register_meta("formulas::scaled", "pointwise(x)")
    assert opwright.vmap(lambda x: scaled(x, 3.0))(opwright.ones(2, 2)).tolist() == [[3, 3], [3, 3]]
    scaled.register_vmap(lambda info, in_dims, x, by: (x * 0, in_dims[0]))
    assert opwright.vmap(lambda x: scaled(x, 3.0))(opwright.ones(2)).tolist() == [0, 0]


def test_gradients() -> None:
    @custom_op("formulas::square", mutates_args=(), meta="pointwise(x)")
    def square(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return x * x

    square.register_autograd(
        lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = opwright.randn(3)
    assert opwright.allclose(opwright.vmap(opwright.func.grad(square))(x), 2 * x)
    assert opwright.allclose(opwright.func.jacrev(square)(x), opwright.diag(2 * x))
