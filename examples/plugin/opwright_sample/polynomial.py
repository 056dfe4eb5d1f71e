"""An operator of the plug-in's own: a function, what it looks like without data, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright import Tensor
from opwright.library import custom_op


@custom_op("sample::polynomial", mutates_args=())
def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """The sum of coefficients[i] * x**i, by Horner's rule, on whatever backend `x` is."""
    result = opwright.zeros_like(x)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


@polynomial.register_fake
def shape_of_polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """What the result looks like, without data."""
    return opwright.empty_like(x)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """What the gradient needs of a call."""
    x, ctx.coefficients = inputs
    ctx.save_for_backward(x)


def gradient(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    """The derivative is a polynomial again."""
    (x,) = ctx.saved_tensors
    derivative = [power * coefficient for power, coefficient in enumerate(ctx.coefficients)][1:]
    return grad * polynomial(x, derivative), None


polynomial.register_autograd(gradient, setup_context=keep)
