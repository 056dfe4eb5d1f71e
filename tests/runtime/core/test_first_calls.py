"""The first call of a program imports no docstrings: only `help` and `__doc__` need them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opwright_core.core import fast

FIRST_CALLS = {
    "factories": "o.ones(2), o.zeros_like(o.tensor([1.0])), o.tensor([1.0]).new_ones(2), o.arange(3), o.rand(2)",
    "transforms": "o.vmap(o.sin)(o.tensor([1.0])), o.func.grad(o.sum)(o.tensor([1.0]))",
    "jacobians": "o.func.jacrev(o.sin)(o.tensor([1.0])), o.func.jacfwd(o.sin)(o.tensor([1.0]))",
    "hessian": "o.func.hessian(o.sum)(o.tensor([1.0])), o.func.functionalize(o.sin)(o.tensor([1.0]))",
    "modes": "o.no_grad()(o.sin)(o.tensor([1.0])), o.autocast('cpu')(o.mm)(o.tensor([[1.0]]), o.tensor([[1.0]]))",
    "checkpoint": "o.func.grad_and_value(o.sum)(o.tensor([1.0])), o.enable_grad()(o.Tensor.sin)(o.tensor([1.0]))",
    "fakes": "o.fake.FakeTensorMode().__enter__(), o.ones(3) + 1",
    "packets": "o.ops.aten.add(o.tensor([1.0]), 1), o.vmap(o.ops.aten.sin)(o.tensor([1.0]))",
    "arrays": "o.add([1.0], [2.0]) if False else o.array_api.ones(3)",
}


@pytest.mark.skipif(fast is None, reason="functions of Python have their docstrings as they are defined")
@pytest.mark.parametrize("name", FIRST_CALLS)
def test_a_first_call_imports_no_docstrings(name: str) -> None:
    start = "import sys, opwright as o, opwright.array_api"
    code = f"{start}\n{FIRST_CALLS[name]}\nprint('opwright_aten.docs' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_wrapped_functions_are_documented() -> None:
    import opwright

    assert (opwright.ones.__doc__ or "").startswith("Return a new tensor")

    def documented(x: opwright.Tensor) -> opwright.Tensor:
        """Say something."""
        return x.sum()

    for wrap in (opwright.vmap, opwright.func.grad, opwright.func.jacrev, opwright.no_grad()):
        assert wrap(documented).__doc__ == "Say something." and wrap(documented).__name__ == "documented"
        assert wrap(opwright.sum).__name__ == "sum"
