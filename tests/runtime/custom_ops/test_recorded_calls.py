"""Recorded calls of custom operators, common ones and those that the compiled core hands to the Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opwright
from opwright.library import custom_op
from opwright_core.state import active_modes


def weighed(count: int, name: str) -> Any:
    """Return an operator that adds up as many tensors, each times its place and one."""

    def kernel(*tensors: Any) -> Any:
        return opwright.from_numpy(np.asarray(sum((n + 1) * each.array for n, each in enumerate(tensors))))

    names = ", ".join(f"Tensor x{n}" for n in range(count))
    op = custom_op(f"recordedcalls::{name}", kernel, mutates_args=(), schema=f"({names}) -> Tensor")
    op.register_autograd(lambda ctx, grad: tuple(grad * (n + 1) for n in range(count)))
    return op


@pytest.mark.parametrize("count", [1, 3, 4, 16, 17])
@pytest.mark.parametrize("dtype", [opwright.float32, opwright.float16, opwright.complex64])
def test_each_operand_gets_its_own_gradient(count: int, dtype: Any) -> None:
    op = weighed(count, f"sum{count}_{dtype.name}")
    for is_leaf in (lambda n: True, lambda n: n % 2 == 0):
        leaves = [opwright.ones(3, dtype=dtype, requires_grad=is_leaf(n)) for n in range(count)]
        for _ in range(3):  # the first call is the Python's
            result = op(*leaves)
        result.backward(opwright.ones(3, dtype=dtype))
        for n, leaf in enumerate(leaves):
            assert (leaf.grad is None) != is_leaf(n)
            assert leaf.grad is None or np.array_equal(leaf.grad.array, np.full(3, n + 1, dtype))


@pytest.mark.parametrize("fails", ["kernel", "setup_context", "save"])
def test_what_fails_leaves_the_modes_as_they_were(fails: str) -> None:
    def kernel(x: Any) -> Any:
        if fails == "kernel" and is_failing:
            raise KeyError("no such thing")
        return x.clone()

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        if fails == "setup_context" and is_failing:
            raise KeyError("no such thing")
        ctx.save_for_backward(*inputs, *((1,) if fails == "save" and is_failing else ()))

    is_failing = False
    op = custom_op(f"recordedcalls::fails_{fails}", kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0], setup_context=setup_context)
    leaf = opwright.ones(3, requires_grad=True)
    for is_failing in (False, False, True, True):
        if is_failing:
            with pytest.raises(TypeError if fails == "save" else KeyError):
                op(leaf)
        else:
            assert op(leaf).requires_grad
        assert active_modes() is None


def test_results_that_setup_context_leaves_out_have_no_gradient() -> None:
    op = custom_op("recordedcalls::left_out", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(
        lambda ctx, grad: grad, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output)
    )
    assert not any(op(opwright.ones(3, requires_grad=True)).requires_grad for _ in range(3))
