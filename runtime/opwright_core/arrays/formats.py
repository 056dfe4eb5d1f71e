"""The forms that a factory gives a tensor, besides a dtype and a device: memory layout, memory format."""

from __future__ import annotations

import enum

__all__ = ["Layout", "MemoryFormat"]


class Layout(enum.Enum):
    """The way a tensor stores its elements; every tensor of ours is `strided`."""

    strided = "strided"

    def __repr__(self) -> str:
        return f"opwright.{self.name}"


class MemoryFormat(enum.Enum):
    """The order of the strides that a result is asked to have."""

    contiguous_format = "contiguous_format"
    preserve_format = "preserve_format"
    channels_last = "channels_last"
    channels_last_3d = "channels_last_3d"

    def __repr__(self) -> str:
        return f"opwright.{self.name}"
