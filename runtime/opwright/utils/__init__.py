"""PyTorch's place for dispatch modes."""

from opwright.utils import _python_dispatch

__all__ = ["_python_dispatch"]
