"""The Python functions that a call runs, counted by the interpreter itself."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(function: Callable[[], Any]) -> list[str]:
    """The functions that a call runs which has run before, that function aside."""
    found: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is not function.__code__:
            found.append(frame.f_code.co_qualname)

    was_enabled = gc.isenabled()
    gc.disable()  # a collection unloads packages of other tests, and what the core keeps of calls is made anew
    try:
        for _ in range(4):
            function()
        sys.setprofile(note)
        function()
    finally:
        sys.setprofile(None)
        if was_enabled:
            gc.enable()
    return found
