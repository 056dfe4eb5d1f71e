"""Gradients: `backward`, `grad`, `Function`, and the modes that say whether operators are recorded."""

from __future__ import annotations

from opwright.autograd import detach as _detach  # noqa: F401
from opwright.autograd import graph
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

__all__ = [
    "Function", "Node", "backward", "detect_anomaly", "enable_grad", "grad", "graph", "inference_mode",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "once_differentiable", "saved_tensors_hooks",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
