"""Gradients: `backward`, `grad`, `Function`, and the modes that say whether operators are recorded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opwright.autograd import detach as _detach  # noqa: F401
from opwright.autograd import graph
from opwright.autograd import resizing as _resizing  # noqa: F401
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

if TYPE_CHECKING:
    from opwright.autograd.checking import gradcheck, gradgradcheck
    from opwright.autograd.fallbacks import autograd_not_implemented_fallback, inplace_or_view_fallback

__all__ = [
    "Function", "GradcheckError", "Node", "autograd_not_implemented_fallback", "backward", "detect_anomaly",
    "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "inplace_or_view_fallback",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "once_differentiable", "saved_tensors_hooks",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Checks, forward mode, and the kernels for operators without formulas are loaded when they are first named."""
    if name in ("forward_ad", "functional"):
        return import_module(f"opwright.autograd.{name}")
    if name in ("gradcheck", "gradgradcheck"):
        return getattr(import_module("opwright.autograd.checking"), name)
    if name in ("autograd_not_implemented_fallback", "inplace_or_view_fallback"):
        return getattr(import_module("opwright.autograd.fallbacks"), name)
    raise AttributeError(f"module 'opwright.autograd' has no attribute {name!r}")
