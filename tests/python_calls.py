"""The Python functions that a call runs, counted by the interpreter itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(function: Callable[[], Any]) -> list[str]:
    """The functions that a call runs which has run before, that function aside.

    The fewer of those of two calls: what the core keeps of a call is made anew where a collection of garbage unloads
    what another test registered, which then happens to one of them.
    """
    for _ in range(4):
        function()
    return min(_calls_of(function), _calls_of(function), key=len)


def _calls_of(function: Callable[[], Any]) -> list[str]:
    found: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is not function.__code__:
            found.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found
