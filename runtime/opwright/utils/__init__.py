"""PyTorch's module for dispatch modes, trees of values and checkpoints."""

from opwright.utils import _python_dispatch, _pytree, checkpoint

__all__ = ["_python_dispatch", "_pytree", "checkpoint"]
