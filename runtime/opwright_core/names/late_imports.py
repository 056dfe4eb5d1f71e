"""Modules that are imported when something of them is first needed, which is too late where Python shuts down.

Python takes its import system away before it destroys the last objects: what an object's `__del__` first asks for by
then cannot be imported any more. PyTorch has no such case, since its own import loads everything, which takes seconds.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["explained", "import_late"]


def import_late(name: str) -> Any:
    """Import a module. Raises ImportError, which says what to do where Python shuts down."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", True):
        return module  # (another thread may be importing it: that is waited for)
    with explained(name):
        return importlib.import_module(name)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Make an ImportError in the block one that says what to do, where Python shuts down."""
    try:
        yield
    except ImportError:
        if sys.meta_path is not None:  # None: Python has taken its import system away
            raise
        raise ImportError(
            f"{what} is needed for the first time while Python shuts down, and cannot be imported any more. Use it "
            "once before, or do the work earlier: in a with block, or by atexit.register or weakref.finalize, which "
            "run before modules go"
        ) from None
