"""`opwright.python_dispatch` under PyTorch's names."""

from opwright.python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from opwright.python_dispatch import current_modes as _get_current_dispatch_mode_stack
from opwright.python_dispatch import disable_modes as _disable_current_modes

__all__ = [
    "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode", "_get_current_dispatch_mode_stack",
    "return_and_correct_aliasing",
]  # fmt: skip


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost mode that is on."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None
