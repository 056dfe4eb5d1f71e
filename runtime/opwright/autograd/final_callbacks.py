"""The functions that hooks and backward functions queue for the end of a backward pass."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from opwright.autograd.engine import is_running

__all__ = ["call_from", "queue", "queue_callback"]

Callbacks = list[Callable[[], Any]]


class _Queue(threading.local):
    """The callbacks of a thread: those of a pass within a pass come after those of the outer one."""

    def __init__(self) -> None:
        self.callbacks: Callbacks = []


queue: Final = _Queue()  # of the thread that reads it


def queue_callback(callback: Callable[[], Any]) -> None:
    """Have a function called when the backward pass that is running has ended and all gradients are accumulated.

    A callback may queue others. None is called after a pass that fails. Raises RuntimeError outside of a pass.
    """
    if not is_running() and not queue.callbacks:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    queue.callbacks.append(callback)


def call_from(callbacks: Callbacks, start: int) -> None:
    """Call what a pass queued, which is what follows `start`."""
    position = start
    while position < len(callbacks):
        callbacks[position]()
        position += 1
    del callbacks[start:]
