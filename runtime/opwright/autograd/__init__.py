"""Gradients: `backward`, `grad`, `Function`, `gradcheck`, and the modes that say whether operators are recorded.

The names are `torch.autograd`'s. `forward_ad` and `functional` are modules, as there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd import detach as _detach  # noqa: F401 (it registers kernels)
from opwright.autograd import graph
from opwright.autograd import resizing as _resizing  # noqa: F401 (it registers kernels)
from opwright.autograd import tensor_methods as _tensor_methods  # noqa: F401 (it gives Tensor its methods)
from opwright.autograd.anomaly import detect_anomaly, set_detect_anomaly
from opwright.autograd.differentiate import backward, grad
from opwright.autograd.function import Function, once_differentiable
from opwright.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from opwright.autograd.nodes import Node
from opwright.autograd.saved import saved_tensors_hooks
from opwright.errors import GradcheckError
from opwright_core.names.missing import missing_attribute

if TYPE_CHECKING:
    from opwright.autograd.checking import gradcheck, gradgradcheck
    from opwright.autograd.fallbacks import autograd_not_implemented_fallback, inplace_or_view_fallback

__all__ = [
    "Function", "GradcheckError", "Node", "autograd_not_implemented_fallback", "backward", "detect_anomaly",
    "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "inplace_or_view_fallback",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "once_differentiable", "saved_tensors_hooks",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


# What is loaded when it is first named, and from where.
_LAZY: Final = {
    "autograd_not_implemented_fallback": "fallbacks",
    "forward_ad": "forward_ad",
    "functional": "functional",
    "gradcheck": "checking",
    "gradgradcheck": "checking",
    "inplace_or_view_fallback": "fallbacks",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, __dir__())
    module = import_module(f"{__name__}.{_LAZY[name]}")
    return module if name == _LAZY[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY})
