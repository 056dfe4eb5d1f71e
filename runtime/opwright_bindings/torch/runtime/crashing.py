"""Calls in a process of their own: operators of PyTorch may end the process at arguments that they do not expect."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["apart"]


def apart(function: Callable[..., Iterable[Any]], *args: Any, modules: Sequence[str]) -> tuple[list[Any], str | None]:
    """Return what a module's function yields in a new process, and how that ended, None where it came to its end.

    `modules` are imported there first. The process is a copy of one that has only imported those of the first call:
    not of this one, whose threads it would wait for (on Windows each starts afresh). Raises RuntimeError with the
    function's own error.
    """
    context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
    context.set_forkserver_preload([function.__module__, *modules])
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send_all, args=(sending, modules, function, args))
    with _path_for_processes():
        process.start()
    sending.close()
    found = list(iter(lambda: _received(receiving), None))
    process.join()
    status = process.exitcode
    if found and isinstance(found[-1], BaseException):
        raise found.pop()
    if status:
        return found, f"signal {-status}" if status < 0 else f"exit status {status}"
    return found, None


@contextmanager
def _path_for_processes() -> Iterator[None]:
    """Let the process that others are copies of find modules where this one does: it gets no other path."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _send_all(
    sending: Connection[Any, Any], modules: Sequence[str], function: Callable[..., Iterable[Any]], args: Sequence[Any]
) -> None:
    """Call the function, and send what it yields, or its error."""
    try:
        for module in modules:
            importlib.import_module(module)
        for value in function(*args):
            sending.send(value)
    except Exception as error:
        sending.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _received(receiving: Connection[Any, Any]) -> Any:
    try:
        return receiving.recv()
    except EOFError:
        return None
