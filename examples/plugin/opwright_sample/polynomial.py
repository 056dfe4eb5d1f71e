"""An operator of the plug-in's own: declared once, with a kernel, its fake and its gradient."""

from __future__ import annotations

from typing import Any

import opwright
from opwright.library import Library

library = Library("sample", "DEF")  # kept: its operators live as long as it does
library.define("polynomial(Tensor x, float[] coefficients) -> Tensor")


def polynomial(x: opwright.Tensor, coefficients: list[float]) -> opwright.Tensor:
    """The sum of coefficients[i] * x**i, by Horner's rule, on whatever backend `x` is."""
    result = opwright.zeros_like(x)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def fake(x: opwright.Tensor, coefficients: list[float]) -> opwright.Tensor:
    """What the result looks like, without data."""
    return opwright.empty_like(x)


class Polynomial(opwright.autograd.Function):
    """Records the call; below Autograd it is the same operator."""

    @staticmethod
    def forward(ctx: Any, x: opwright.Tensor, coefficients: list[float]) -> opwright.Tensor:
        """The value."""
        ctx.save_for_backward(x)
        ctx.coefficients = coefficients
        with opwright.dispatch.below_autograd():
            return opwright.ops.sample.polynomial(x, coefficients)

    @staticmethod
    def backward(ctx: Any, grad: opwright.Tensor) -> tuple[opwright.Tensor, None]:
        """The derivative is a polynomial again."""
        (x,) = ctx.saved_tensors
        derivative = [power * coefficient for power, coefficient in enumerate(ctx.coefficients)][1:]
        return grad * opwright.ops.sample.polynomial(x, derivative), None


library.impl("polynomial", polynomial, "CompositeExplicitAutograd")
library.impl("polynomial", Polynomial.apply, "Autograd")
library.register_fake("polynomial", fake)
