"""The number of threads over which long loops in C are split, and what tells threadpoolctl of them: docs/threads.md."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from opwright_core.core import fast

__all__ = ["get_num_threads", "register_with_threadpoolctl", "set_num_threads"]


def get_num_threads() -> int:
    """Return over how many threads a long loop is split; 1 where Python runs in place of the compiled core."""
    return 1 if fast is None else int(fast.get_num_threads())


def set_num_threads(threads: int) -> None:
    """Have long loops be split over that many threads, with the one that calls; where Python runs they are not.

    Raises TypeError for what is no int, RuntimeError for a number below 1, as PyTorch does.
    """
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(threads).__name__}")
    if threads < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if fast is not None:
        fast.set_num_threads(min(threads, 2**31 - 1))


@cache
def register_with_threadpoolctl() -> None:
    """Have `threadpoolctl` see and limit the threads. Importing `opwright` does it where threadpoolctl was imported."""
    module: Any = sys.modules.get("threadpoolctl") or __import__("threadpoolctl")

    class Controller(module.LibController):  # type: ignore[misc]  # a class of theirs
        """The controller of the library of the compiled core, which threadpoolctl finds among those that are loaded."""

        user_api = "opwright"
        internal_api = "opwright"
        filename_prefixes = ("_fast",)
        check_symbols = ("opwright_get_num_threads",)

        def get_version(self) -> str:
            return str(sys.modules["opwright"].__version__)

        def get_num_threads(self) -> int:
            return get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(num_threads)

    module.register(Controller)
