"""Programs of 200 operators: eager, traced, functionalised and vmapped they give one thing, and PyTorch's, values and
gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from interpreted_programs import Step, draw, run  # noqa: E402

import opwright  # noqa: E402
from opwright.func import functionalize, vmap  # noqa: E402
from opwright.fx import make_fx  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SHAPES = (3,), (2, 3), (4, 2)
Values = list[np.ndarray[Any, Any]]


def _inputs(seed: int) -> Values:
    numbers = seeds.numpy_generator(seed)
    return [numbers.uniform(-1, 1, shape) for shape in SHAPES]


def _gradients(t: Any, steps: Sequence[Step]) -> Callable[..., Any]:
    """A program and its gradients, as one function of its inputs."""

    def call(*inputs: Any) -> Any:
        leaves = [each.detach().requires_grad_() for each in inputs]
        total, last = run(t, steps, leaves)
        found = t.autograd.grad(total, leaves, allow_unused=True)
        return [total, *last, *(value * 0 if grad is None else grad for value, grad in zip(leaves, found, strict=True))]

    return call


def _transformed(steps: Sequence[Step]) -> Callable[..., Any]:
    """The same by `grad`, which `vmap` can be put around."""

    def call(*inputs: Any) -> Any:
        found, (total, last) = opwright.func.grad_and_value(
            lambda *each: (lambda made: (made[0], made[1]))(run(opwright, steps, each)),
            argnums=tuple(range(len(inputs))), has_aux=True,
        )(*inputs)  # fmt: skip
        return [total, *last, *found]

    return call


def _check(name: str, found: Any, expected: Any) -> None:
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=2e-6, atol=1e-7, err_msg=f"{name}, {number}")


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_programs_of_200_operators(seed: int) -> None:
    values = _inputs(seed)
    steps = draw(torch, seeds.generator(seed), 200, [torch.from_numpy(each) for each in values])
    expected = [each.detach().numpy() for each in _gradients(torch, steps)(*map(torch.from_numpy, values))]
    inputs = [opwright.from_numpy(each) for each in values]
    eager = _gradients(opwright, steps)
    _check("eager", eager(*inputs), expected)
    _check("grad", _transformed(steps)(*inputs), expected)
    for mode in ("real", "fake", "symbolic"):
        _check(f"traced {mode}", make_fx(eager, tracing_mode=mode)(*inputs)(*inputs), expected)
    _check("functionalised", functionalize(_transformed(steps))(*inputs), expected)
    _check("functionalised and traced", make_fx(functionalize(_transformed(steps)))(*inputs)(*inputs), expected)
    _check("grad of the functionalised", functionalize(_transformed(steps))(*inputs), expected)
    other = _inputs(seed + 1)
    batch = [opwright.from_numpy(np.stack(pair)) for pair in zip(values, other, strict=True)]
    second = [each.detach().numpy() for each in _gradients(torch, steps)(*map(torch.from_numpy, other))]
    together = [np.stack(pair) for pair in zip(expected, second, strict=True)]
    _check("vmapped", vmap(_transformed(steps))(*batch), together)
    _check("vmapped and traced", make_fx(vmap(_transformed(steps)))(*batch)(*batch), together)
    _check("vmapped functionalised", vmap(functionalize(_transformed(steps)))(*batch), together)
