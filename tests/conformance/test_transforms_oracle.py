"""Transforms around transforms, in any order, of random functions: as `torch.func` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

torch = pytest.importorskip("torch")

import opwright  # noqa: E402
import opwright.func  # noqa: E402

pytestmark = pytest.mark.oracle

Function = Callable[[Any], Any]
SIZE = 3

# Functions of a vector, in the names of both libraries.
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda t, x: x.sin(),
    "tanh": lambda t, x: x.tanh(),
    "exp": lambda t, x: (-x * x).exp(),
    "square": lambda t, x: x * x,
    "scale": lambda t, x: 2 * x - 0.5,
    "softmax": lambda t, x: x.softmax(-1) + x,
    "cumsum": lambda t, x: x.cumsum(0) * 0.5,
    "roll": lambda t, x: x * t.roll(x, 1, 0),
    "norm": lambda t, x: x / (1 + (x * x).sum()),
    "matrix": lambda t, x: (t.arange(9, dtype=t.float64).reshape(3, 3) / 9 - 0.4) @ x,
    "outer": lambda t, x: t.outer(x, x.cos()).sum(0),
    "index": lambda t, x: x[[2, 0, 1]] * x[0],
    "slices": lambda t, x: t.cat([x[1:] * x[:-1], x[:1]]),
    "where": lambda t, x: t.where(x > 0, x * x, x.sin()),
    "write": lambda t, x: _written(t, x),
    "write_view": lambda t, x: _written_view(t, x),
    "stack": lambda t, x: t.stack([x, x.sin(), x * x]).mean(0),
    "view": lambda t, x: (x.view(3, 1) * x.view(1, 3)).transpose(0, 1).reshape(9)[::3],
    "logsumexp": lambda t, x: x - t.logsumexp(x, 0),
    "max": lambda t, x: x * x.max(),
    "pow": lambda t, x: (x * x + 1) ** 1.5,
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(3, 3, dtype=t.float64) * 0.3, t.arange(3, dtype=t.float64)),
}


def _written(t: Any, x: Any) -> Any:
    y = x.clone()
    y.mul_(x)
    y[0] = x[1]
    return y


def _written_view(t: Any, x: Any) -> Any:
    y = x.sin()
    z = y[1:]
    z.mul_(x[:2])
    return y + x


# What makes of a function of a vector another one.
def _vmap(t: Any, f: Any, f_: Function) -> Function:
    return lambda x: f.vmap(lambda s: f_(s) * x)(t.stack([x, x * 0.5])).sum(0)


def _vmap_columns(t: Any, f: Any, f_: Function) -> Function:
    return lambda x: f.vmap(f_, in_dims=1, out_dims=1)(t.stack([x, x.cos()], 1))[:, 1]


def _grad_of_captured(t: Any, f: Any, f_: Function) -> Function:
    return lambda x: f.grad(lambda y: (f_(y) * x).sum())(x.sin())


def _vjp(t: Any, f: Any, f_: Function) -> Function:
    def call(x: Any) -> Any:
        value, back = f.vjp(f_, x)
        return back(value.cos())[0]

    return call


def _vmapped_pullback(t: Any, f: Any, f_: Function) -> Function:
    return lambda x: f.vmap(f.vjp(f_, x)[1])(t.stack([x, x * x]))[0].sum(0)


TRANSFORMS: dict[str, Callable[[Any, Any, Function], Function]] = {
    "grad": lambda t, f, f_: f.grad(lambda x: f_(x).sum()),
    "grad_of_captured": _grad_of_captured,
    "value": lambda t, f, f_: lambda x: sum(f.grad_and_value(lambda y: f_(y).prod())(x)),
    "vjp": _vjp,
    "vmapped_pullback": _vmapped_pullback,
    "jvp": lambda t, f, f_: lambda x: f.jvp(f_, (x,), (x.sin(),))[1],
    "both_of_jvp": lambda t, f, f_: lambda x: sum(f.jvp(f_, (x,), (x,))),
    "jacrev": lambda t, f, f_: lambda x: f.jacrev(f_)(x) @ x,
    "jacfwd": lambda t, f, f_: lambda x: f.jacfwd(f_)(x).sum(0),
    "vmap": _vmap,
    "vmap_columns": _vmap_columns,
}
HEAVY = {"hessian": lambda t, f, f_: lambda x: f.hessian(lambda y: f_(y).sum())(x) @ x}


def _program(seed: int) -> tuple[list[str], list[str]]:
    drawn = seeds.generator(seed)
    steps = [drawn.choice(sorted(STEPS)) for _ in range(drawn.randint(1, 3))]
    depth = drawn.randint(1, 3)
    around = [drawn.choice(sorted(TRANSFORMS)) for _ in range(depth)]
    if depth < 3 and drawn.random() < 0.15:
        around.append("hessian")
    return steps, around


def _built(t: Any, f: Any, steps: list[str], around: list[str]) -> Function:
    def call(x: Any) -> Any:
        for step in steps:
            x = STEPS[step](t, x)
        return x

    found: Function = call
    for name in around:
        found = (TRANSFORMS | HEAVY)[name](t, f, found)
    return found


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:vmap. there is no batching rule")
@pytest.mark.parametrize("part", range(8))
def test_random_functions(part: int) -> None:
    differ = []
    for seed in range(part * 40, part * 40 + 40):
        steps, around = _program(seed)
        values = seeds.numpy_generator(seed).uniform(-1.2, 1.2, SIZE)
        expected = _built(torch, torch.func, steps, around)(torch.from_numpy(values)).numpy(force=True)
        found = _built(opwright, opwright.func, steps, around)(opwright.from_numpy(values)).numpy()
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-7, atol=1e-9):
            differ.append(f"{seed}: {' '.join(steps)} under {' '.join(around)}: {found} is not {expected}")
    assert differ == []


@pytest.mark.parametrize(
    "programme",
    [
        lambda t, z: t.func.jacrev(lambda z: z * z)(z),
        lambda t, z: t.func.jacfwd(lambda z: z.abs())(z),
        lambda t, z: t.func.jacrev(lambda x: x * 1j)(z.real),
        lambda t, z: t.func.jacfwd(lambda x: x * 1j)(z.real),
        lambda t, z: t.func.jacrev(lambda x, z: (z * x).abs(), argnums=(0, 1))(z.real, z),
        lambda t, z: t.func.hessian(lambda z: (z * z.conj()).real.sum())(z),
        lambda t, z: t.func.jacrev(lambda x: t.view_as_real(x * 1j))(z.real),
        lambda t, z: t.autograd.functional.jacobian(lambda z: z * z, z),
        lambda t, z: t.autograd.functional.jacobian(lambda z: z.abs(), z).real,
        lambda t, z: t.autograd.functional.jacobian(lambda z: z * z, z, strategy="forward-mode", vectorize=True).imag,
        lambda t, z: t.autograd.functional.hessian(lambda z: z.abs().sum(), z),
    ],
)
def test_jacobians_are_of_real_numbers(programme: Any) -> None:
    from both import check

    check(lambda t: programme(t, t.tensor([1 + 2j, 3 - 1j])))


def _written_argument(x: Any, y: Any) -> Any:
    y.copy_(x)
    return y * x


def _by_position(t: Any, x: Any) -> Any:
    _, pull = t.func.vjp(lambda x: x * x, x)
    _, pull_two = t.func.vjp(lambda x: (x, x * 2), x)
    kept = pull(x, True, True), pull(x, retain_graph=True, create_graph=None)
    return kept, pull_two((x, x), True), pull(x, False)


def _not_a_number(x: Any) -> Any:
    return (x * 0 / (x * 0)).sum()


@pytest.mark.parametrize(
    "programme",
    [
        lambda t, x: t.func.jacrev(_written_argument)(x, t.ones(3)),
        lambda t, x: t.func.jacfwd(_written_argument)(x, t.ones(3)),
        lambda t, x: t.func.grad(lambda x, y: _written_argument(x, y["y"]).sum())(x, {"y": t.ones(3)}),
        lambda t, x: t.func.grad(lambda x, *, y: _written_argument(x, y).sum())(x, y=t.ones(3)),
        lambda t, x: (y := t.ones(3), t.func.grad(lambda x, y: _written_argument(x, y).sum())(x, y)),
        lambda t, x: _by_position(t, x),
    ],
)
def test_arguments_that_are_not_differentiated_and_options_of_pullbacks(programme: Any) -> None:
    from both import check

    check(lambda t: programme(t, t.tensor([1.0, 2.0, 3.0])))


@pytest.mark.parametrize(
    "programme",
    [
        lambda t, x: t.func.grad(lambda x: (x * x).sum())(x),
        lambda t, x: t.vmap(t.func.grad(lambda x: (x * x).sum()))(x.view(1, 3)),
        lambda t, x: t.func.jacrev(lambda x: x.sin())(x),
        lambda t, x: t.func.hessian(lambda x: x.sin().sum())(x),
        lambda t, x: t.func.vjp(lambda x: x * x, x)[1](x),
        lambda t, x: t.func.grad(_not_a_number)(x),
        lambda t, x: t.vmap(t.func.grad(_not_a_number))(t.stack([x, x])),
    ],
)
@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomalies_are_detected_within_transforms(programme: Any) -> None:
    from both import check

    def detecting(t: Any) -> Any:
        with t.autograd.detect_anomaly():
            return programme(t, t.tensor([1.0, 2.0, 3.0]))

    check(detecting)
