"""PyTorch's module for fake tensors."""

from opwright._subclasses import fake_tensor

__all__ = ["fake_tensor"]
