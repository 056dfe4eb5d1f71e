"""The beginning and end of the command: interrupts while modules are imported, streams that take no more text."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line; the exit status."""
    try:
        from opwright_codegen.cli import main as run

        status = run()
    except KeyboardInterrupt:
        status = 130
    except OSError:
        status = 2  # not even the error could be written
    return status if _are_written() else status or 2


def _are_written() -> bool:
    """Whether all that was printed could be written. What could not is dropped: Python would try again at its end."""
    written = True
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            written = False
    return written
