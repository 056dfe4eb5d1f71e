"""Calls in a process of their own: operators of PyTorch may end the process at arguments that they do not expect."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["apart"]

_LENGTH: Final = 8


def apart(yielding: Callable[[], Iterator[Any]]) -> tuple[list[Any], str | None]:
    """Return what is yielded in a copy of this process, and how that ended, None where it came to its end.

    Where a process cannot be copied (on Windows), it is this one.
    """
    if not hasattr(os, "fork"):
        return list(yielding()), None
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _send_all(yielding, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = list(_received(pipe))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        return found, f"signal {-status}"
    if found and isinstance(found[-1], BaseException):
        raise found.pop()
    return found, f"exit status {status}" if status else None


def _send_all(yielding: Callable[[], Iterator[Any]], write: int) -> None:
    """Write what is yielded, or the error, to the pipe, and end the process."""
    status = 1
    try:
        with os.fdopen(write, "wb") as pipe:
            try:
                for value in yielding():
                    _send(value, pipe)
            except Exception as error:
                _send(RuntimeError(f"{type(error).__name__}: {error}"), pipe)
        status = 0
    finally:
        os._exit(status)


def _send(value: Any, pipe: Any) -> None:
    data = pickle.dumps(value)
    pipe.write(len(data).to_bytes(_LENGTH, "little") + data)
    pipe.flush()


def _received(pipe: Any) -> Iterator[Any]:
    while len(head := pipe.read(_LENGTH)) == _LENGTH:
        data = pipe.read(int.from_bytes(head, "little"))
        yield pickle.loads(data)  # of our own child
