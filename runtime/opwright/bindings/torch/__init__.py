"""Operators for PyTorch: what modules that `bindings = ["torch"]` writes import."""

from __future__ import annotations

from opwright.bindings.frameworks import FrameworkMissing

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise FrameworkMissing("PyTorch", "torch") from None

from opwright.bindings.torch.batching import Along, Elementwise, Everything, Reducing
from opwright.bindings.torch.binding import Binding, open_binding
from opwright.bindings.torch.stacking import Folded, Leading, Product

__all__ = [
    "Along",
    "Binding",
    "Elementwise",
    "Everything",
    "Folded",
    "Leading",
    "Product",
    "Reducing",
    "open_binding",
    "torch",
]

open_door = open_binding  # its name in modules that were generated before
