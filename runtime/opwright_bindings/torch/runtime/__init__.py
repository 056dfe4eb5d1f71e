"""Operators for PyTorch: what modules that `bindings = ["torch"]` writes import."""

from __future__ import annotations

from opwright_bindings.frameworks import FrameworkMissing

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise FrameworkMissing("PyTorch", "torch") from None

from opwright_bindings.torch.runtime.batching import Along, Elementwise, Everything, Reducing
from opwright_bindings.torch.runtime.binding import Binding, open_binding
from opwright_bindings.torch.runtime.stacking import Folded, Leading, Product
from opwright_bindings.torch.runtime.tangents import or_zeros
from opwright_core.abi import ForwardRule, TangentFormula, sum_terms

__all__ = [
    "Along",
    "Binding",
    "Elementwise",
    "Everything",
    "Folded",
    "ForwardRule",
    "Leading",
    "Product",
    "Reducing",
    "TangentFormula",
    "open_binding",
    "or_zeros",
    "sum_terms",
    "torch",
]
