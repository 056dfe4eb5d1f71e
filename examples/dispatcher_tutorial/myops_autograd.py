"""Gradients: of myadd by a Function that goes on below autograd, of the others by the fallbacks."""

from typing import Any

import opwright
from opwright import Tensor
from opwright.autograd import autograd_not_implemented_fallback, inplace_or_view_fallback
from opwright.library import Library

library = Library("myops", "IMPL", "Autograd")
counting = Library("myops", "IMPL", "ADInplaceOrView")


class MyAdd(opwright.autograd.Function):
    @staticmethod
    def forward(ctx: Any, self: Tensor, other: Tensor) -> Tensor:
        with opwright.dispatch.below_autograd():
            return opwright.ops.myops.myadd(self, other)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        return grad, grad


def myadd_autograd(self: Tensor, other: Tensor) -> Tensor:
    return MyAdd.apply(self, other)


library.impl("myadd", myadd_autograd)
library.impl("myround", autograd_not_implemented_fallback)
library.impl("mydouble_", autograd_not_implemented_fallback)
counting.impl("mydouble_", inplace_or_view_fallback)
