"""Modules of PyTorch that are told of operators when a program imports them, and not imported for that.

The finder of such a module finds it as ever, once; its loader goes on, and then those who wait are told.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Finder", "when_imported"]

_waiting: Final[dict[str, list[Callable[[], None]]]] = {}


def when_imported(module: str, name: str, tell: Callable[[], None]) -> None:
    """Call `tell` as soon as a module is there with the name of its that is needed: now, or at the end of its
    import."""
    if hasattr(sys.modules.get(module), name):
        tell()
        return
    if module not in _waiting:
        sys.meta_path.insert(0, Finder(module))
    _waiting.setdefault(module, []).append(tell)


class Finder:
    """The finder of one module, once."""

    def __init__(self, module: str) -> None:
        self.module = module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of the module, None for any other."""
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        load = loader.exec_module

        def followed(module: Any) -> None:
            del loader.exec_module
            load(module)
            for tell in _waiting.pop(name):
                tell()

        loader.exec_module = followed
        return spec
