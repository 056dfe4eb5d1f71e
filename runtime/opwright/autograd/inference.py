"""Inference tensors: those made in inference mode, which carry neither Autograd nor ADInplaceOrView keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from opwright.autograd.recording import check_writable
from opwright_core.core import fast
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD
from opwright_core.tensors.tensor import Tensor

__all__ = ["checking", "making"]

Kernel = Callable[..., Any]
_NEITHER: Final = ~(AUTOGRAD | ADINPLACEORVIEW)


def making(kernel: Kernel) -> Kernel:
    """Return a kernel in inference mode that returns no views: new results are inference tensors. (A view is what its
    base is.)"""

    def call(*args: Any) -> Any:
        result = kernel(*args)
        for each in result if isinstance(result, list | tuple) else (result,):
            if isinstance(each, Tensor) and each._base is None and not any(each is value for value in args):
                each.keys &= _NEITHER
        return result

    return call


def checking(kernel: Kernel, written: Iterable[int]) -> Kernel:
    """Return a kernel that writes, for calls whose tensors may be inference tensors alone."""
    positions = tuple(written)
    first = positions[0]

    def call_of_one(*args: Any) -> Any:
        if type(args[first]) is Tensor:
            check_writable(args[first])
            return kernel(*args)
        return call(*args)

    def call(*args: Any) -> Any:
        for position in positions:
            value = args[position]
            for each in value if isinstance(value, list) else (value,):
                if isinstance(each, Tensor):
                    check_writable(each)
        return kernel(*args)

    if fast is not None and len(positions) == 1:
        made: Kernel = fast.Writing(call_of_one, kernel, first)
        return made
    return call_of_one if len(positions) == 1 else call
