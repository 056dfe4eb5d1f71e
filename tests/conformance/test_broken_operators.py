"""A custom operator with one mistake at a time: what finds it, and that the message names the operator, the argument or
result, and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.autograd import GradcheckError, gradcheck
from opwright.errors import OpCheckError
from opwright.library import CustomOpDef, Library, custom_op, opcheck

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


def scale(x: np.ndarray, by: np.ndarray, times: int = 1) -> np.ndarray:
    return np.multiply(x, by, order="C") * times


def fake(x: Tensor, by: Tensor, times: int = 1) -> Tensor:
    return (x * by).contiguous()


def save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.times = inputs[2]


def backward(ctx: Any, grad: Tensor) -> Any:
    x, by = ctx.saved_tensors
    return grad * by * ctx.times, grad * x * ctx.times, None


def define(
    kernel: Callable[..., Any] = scale,
    *,
    fake: Callable[..., Any] | None = fake,
    backward: Callable[..., Any] | None = backward,
    **options: Any,
) -> CustomOpDef:
    """The operator, right but for what is given."""
    op: CustomOpDef = custom_op("broken::scale", kernel, **({"mutates_args": ()} | options))
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward, setup_context=save)
    return op


def arguments(requires_grad: bool = True) -> tuple[Tensor, Tensor, int]:
    x = opwright.arange(6, dtype=opwright.float64).reshape(2, 3) + 1
    by = x[:1] * 2
    return x.requires_grad_(requires_grad), by.requires_grad_(requires_grad), 3


def check_that_opcheck_says(test: str, message: str, op: Any, *, requires_grad: bool = True) -> None:
    with pytest.raises(OpCheckError, match=rf"(?s)^opcheck\(broken::scale\): {test} failed: .*{message}"):
        opcheck(op, arguments(requires_grad))


def test_it_is_right() -> None:
    op = define()
    assert set(opcheck(op, arguments()).values()) == {"SUCCESS"} and gradcheck(op, arguments())


def test_an_undeclared_write() -> None:
    def kernel(x: np.ndarray, by: np.ndarray, times: int = 1) -> np.ndarray:
        by *= times
        return np.multiply(x, by)

    message = r"writes to argument 'by', and its declaration does not say so: .*\(custom_op: mutates_args={'by'}\)"
    check_that_opcheck_says("test_schema", message, define(kernel), requires_grad=False)


def test_a_declared_write_that_does_not_happen() -> None:
    message = r"declared to write to argument 'by', and does not.*leave 'by' out of mutates_args"
    op = define(backward=None, mutates_args=["by"])
    check_that_opcheck_says("test_schema", message, op, requires_grad=False)


def test_a_write_to_a_leaf() -> None:
    def kernel(x: np.ndarray, by: np.ndarray, times: int = 1) -> None:
        by *= times

    op = define(kernel, fake=None, backward=None, mutates_args=["by"])
    x, by, times = arguments()
    with pytest.raises(RuntimeError, match=r"broken::scale writes to argument 'by': a leaf .* copy \(by.clone\(\)\)"):
        op(x, by, times)
    assert by.tolist() == [[2, 4, 6]]
    message = "writes to argument 'by', whose gradient would be lost: a leaf Variable that requires grad"
    check_that_opcheck_says("test_autograd_registration", message, op)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (lambda x, by, times=1: x, "result 0 shares memory with argument 'x'.*return a copy"),
        (lambda x, by, times=1: by.t(), "result 0 shares memory with argument 'by'.*return a copy"),
        (lambda x, by, times=1: None, "must return Tensor, but returned None: is a return statement missing"),
        (lambda x, by, times=1: (x + 1, by + 1), r"returned tuple \(.*: declare \(Tensor, Tensor\) to return them"),
    ],
)
def test_results_of_the_kernel(kernel: Callable[..., Any], message: str) -> None:
    op = define(kernel, schema="(Tensor x, Tensor by, int times=1) -> Tensor")
    place = r"the kernel <lambda> at .*test_broken_operators.py:\d+ .*"
    check_that_opcheck_says("test_schema", place + message, op, requires_grad=False)
    with pytest.raises(RuntimeError, match=place + message):
        op(*arguments())


@pytest.mark.parametrize(
    "fake, message",
    [
        (None, r"has no fake kernel.*register_fake\(\"broken::scale\"\)\n *def _\(x, by, times\)"),
        (lambda x, by, times: x.new_empty(3, 2), r"Shape mismatch in the result, dimension 0: .*\(3, 2\).*\(2, 3\)"),
        (lambda x, by, times: x.new_empty(3), r"Rank mismatch in the result: .* 1, of \(3,\), .* 2, of \(2, 3\)"),
        (
            lambda x, by, times: x.new_empty(3, 2).t(),
            r"Stride mismatch in the result, dimension 0: .*\(1, 2\)",
        ),
        (lambda x, by, times: x.float(), "Dtype mismatch in the result: .* float32, .* float64"),
        (lambda x, by, times: opwright.empty_like(x, device="cuda"), "Device mismatch in the result: .* cuda, .* cpu"),
        (
            lambda x, by, times: x,
            "Alias mismatch: .* shares memory with argument 'x', that of .* with nothing",
        ),
        (lambda x, by, times: None, "must return Tensor, but returned None: is a return statement missing"),
        (lambda x, by, times: (x + 1, by + 1), r"declare \(Tensor, Tensor\) to return them all"),
        (
            lambda x, by, times: x if x.sum() > 0 else x + 1,
            r"bool\(\) reads the data .* in the fake kernel of broken::",
        ),
    ],
)
def test_fake_kernels(fake: Callable[..., Any] | None, message: str) -> None:
    check_that_opcheck_says("test_faketensor", message, define(fake=fake))


@pytest.mark.parametrize(
    "backward, message",
    [
        (lambda ctx, grad: grad, r"number of gradients \(expected 3, got 1\): .* which are 'x', 'by', 'times'"),
        (lambda ctx, grad: (grad, grad, None, grad), r"number of gradients \(expected 3, got 4\)"),
        (lambda ctx, grad: [grad, grad, None], "returned a list, .*: return one gradient, or a tuple"),
        (lambda ctx, grad: (grad, opwright.ones(4), None), r"got \[4\] .* compatible with \[1, 3\], for argument 'by'"),
        (lambda ctx, grad: (grad, 1.0, None), "expected a Tensor or None, but got float, for argument 'by'"),
        (lambda ctx, grad: (grad, grad, grad), "argument 'times' is not a Tensor but SymInt: return None there"),
    ],
)
def test_formulas(backward: Callable[..., Any], message: str) -> None:
    place = r"\nIn backward of broken::scale, <lambda> at .*test_broken_operators.py:\d+"
    check_that_opcheck_says("test_autograd_registration", f"{message}.*{place}", define(backward=backward))


def test_formulas_that_cannot_run_without_data() -> None:
    op = define(backward=lambda ctx, grad: (opwright.from_numpy(grad.numpy() * 2), grad, None))
    check_that_opcheck_says("test_aot_dispatch_dynamic", "the backward pass of broken::scale reads data", op)


def test_no_formula() -> None:
    message = "no autograd formula was registered for it: use .*register_autograd"
    check_that_opcheck_says("test_aot_dispatch_dynamic", message, define(backward=None))


def test_a_wrong_gradient() -> None:
    op = define(backward=lambda ctx, grad: (grad * ctx.saved_tensors[1] * ctx.times, grad, None))
    with pytest.raises(GradcheckError, match=r"for output 0 with respect to input 1 \('by'\)"):
        gradcheck(op, arguments())


def test_autograd_at_the_wrong_key() -> None:
    class Scale(opwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, by: Tensor, times: int) -> Tensor:
            save(ctx, (x, by, times), x)
            return opwright.from_numpy(scale(x.numpy(), by.numpy(), times))

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return backward(ctx, grad)

    library = Library("broken", "FRAGMENT")
    library.define("scale(Tensor x, Tensor by, int times=1) -> Tensor")
    library.impl("scale", Scale.apply, "CPU")
    library.register_fake("scale", fake)
    message = r"the operator does not have an autograd kernel defined at an autograd key: .*register_autograd\("
    check_that_opcheck_says("test_autograd_registration", message, opwright.ops.broken.scale)
    library.destroy()
