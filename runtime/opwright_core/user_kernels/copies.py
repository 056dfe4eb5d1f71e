"""Copies in the place of views, on backends that can make none."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.storage import Storage

__all__ = ["CopyOfView", "check_memory"]


class CopyOfView(Storage):
    """The memory of a copy in place of a view, on a backend that can make none: nobody may write to it."""

    __slots__ = ()


def check_memory(value: Any) -> None:
    """Raise RuntimeError for a tensor whose memory nobody may write to; also for one in a list."""
    if isinstance(value, list):
        for each in value:
            check_memory(each)
    elif (extra := getattr(value, "extra", None)) is not None and isinstance(extra.storage, CopyOfView):
        raise RuntimeError(
            "a write to this tensor would be lost: it is a copy in place of a view, since backend "
            f"{backend_of(value.array).name!r} has no kernel of aten::as_strided. Write to the tensor that it was made "
            "of, or clone() it first"
        )
