"""`torch.func.functional_call`, `stack_module_state` and `torch.amp.GradScaler` over our tensors."""

from __future__ import annotations

from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def _call(lib: Any) -> Any:
    module, x = lib.nn.Linear(2, 2), lib.arange(2.0).reshape(1, 2)
    given = {"weight": lib.ones(2, 2), "bias": lib.zeros(2)}
    slopes = lib.func.grad(lambda p: lib.func.functional_call(module, p, (x,)).sum())(given)
    return [
        lib.func.functional_call(module, given, (x,)).tolist(),
        {name: each.tolist() for name, each in slopes.items()},
    ]


def _ensemble(lib: Any) -> Any:
    modules = [lib.nn.Linear(2, 2) for _ in range(3)]
    params, buffers = lib.func.stack_module_state(modules)
    given = {name: lib.ones(each.shape) for name, each in params.items()}
    found = lib.vmap(lambda p: lib.func.functional_call(modules[0], (p, buffers), (lib.ones(1, 2),)))(given)
    return [{name: tuple(each.shape) for name, each in params.items()}, found.tolist()]


def _scaled(lib: Any) -> Any:
    module = lib.nn.Linear(2, 1)
    scaler = lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    optimizer = lib.optim.SGD(module.parameters(), lr=0.1)
    with lib.no_grad():
        module.weight.fill_(1.0)
        module.bias.fill_(0.0)
    found = []
    for step in range(5):
        optimizer.zero_grad()
        loss = module(lib.ones(1, 2)).sum() * (float("inf") if step == 2 else 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), module.weight.tolist()))
    return found, scaler.state_dict()


@pytest.mark.parametrize("program", [_call, _ensemble, _scaled])
def test_results_are_pytorchs(program: Any) -> None:
    with opwright.as_torch() as ours:
        found = program(ours)
    assert found == program(torch)
