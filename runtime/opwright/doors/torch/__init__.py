"""Operators for PyTorch: what modules that `bindings = ["torch"]` writes import."""

from __future__ import annotations

from opwright.doors.frameworks import FrameworkMissing

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise FrameworkMissing("PyTorch", "torch") from None

from opwright.doors.torch.batching import Along, Elementwise, Everything, Reducing
from opwright.doors.torch.door import Door, open_door
from opwright.doors.torch.stacking import Folded, Leading, Product

__all__ = [
    "Along",
    "Door",
    "Elementwise",
    "Everything",
    "Folded",
    "Leading",
    "Product",
    "Reducing",
    "open_door",
    "torch",
]
