"""Functions of signal processing, by the names that `torch.signal` has."""

from opwright.signal import windows

__all__ = ["windows"]
