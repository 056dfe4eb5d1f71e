"""Plug-ins: installed distributions that add operators, kernels and backends, by entry points of `opwright.kernels`.

An entry point names a module, which is imported, or a function in one (`module:function`), which is called without
arguments; what it returns is kept, so that a Library it returns lives on. They are loaded once, when something is first
looked for: the kernel of a first call, or a name, device or array type that is not there. Never at import. With
`OPWRIGHT_PLUGINS=0` in the environment there are none.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import warnings
from dataclasses import dataclass
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from opwright_core.locks.interrupts import take

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Plugin", "PluginWarning", "are_loaded", "failures", "load", "loaded"]

GROUP: Final = "opwright.kernels"


class PluginWarning(UserWarning):
    """A plug-in that could not be loaded."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point that was loaded, or tried: its name, what it names, and the distribution with its version.

    `result` is the module, or what the function returned; `error` what stopped it.
    """

    name: str
    target: str
    distribution: str
    version: str
    result: Any = None
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.name!r} of {self.distribution} {self.version} ({self.target})"


_lock = threading.RLock()
_tried: Final[list[Plugin]] = []
_loader: int | None = None  # the thread that loads them
_is_done = False


def _let_child_load() -> None:
    """Load, in a child process, what another thread of its parent was loading, and does not go on with here."""
    global _lock, _loader
    if _loader != threading.get_ident():
        _lock, _loader = threading.RLock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_child_load)


def are_loaded() -> bool:
    """Whether there is nothing left to load."""
    return _is_done


def loaded() -> tuple[Plugin, ...]:
    """Return the plug-ins that were loaded so far, those that failed (`error`) too. Loads none."""
    return tuple(_tried)


def load(wait: bool = True) -> tuple[Plugin, ...]:
    """Load the plug-ins, unless that was done, and return them. Warns (PluginWarning) of each that fails.

    Not to be called with the registry's lock held. While another thread loads them this one waits for it, unless
    `wait` is false; where a plug-in's own code leads here, what is loaded so far is returned.
    """
    global _is_done, _loader
    if _is_done:
        return loaded()
    is_taken, signals = take(_lock, wait=wait)
    if not is_taken:
        return loaded()
    try:
        if signals is not None:
            signals.deliver()
        if _loader is not None or _is_done:
            return loaded()
        _loader = threading.get_ident()
        try:
            if os.environ.get("OPWRIGHT_PLUGINS") != "0":
                contextvars.Context().run(_load_all)  # in no mode, whichever is on where the first miss happens
            _is_done = True
        finally:
            _loader = None
    finally:
        _lock.release()
    for plugin in _tried:
        if plugin.error is not None:
            warnings.warn(f"{_told(plugin)}. Everything else works without it.", PluginWarning, stacklevel=2)
    return loaded()


def failures() -> str:
    """Return lines for the error of a miss: the plug-ins that failed, one of which may have had what is missing."""
    return "".join(f"\n{_told(plugin)}." for plugin in _tried if plugin.error is not None)


def _told(plugin: Plugin) -> str:
    return f"The plug-in {plugin} could not be loaded: {type(plugin.error).__name__}: {plugin.error}"


def _load_all() -> None:
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    if not any(map(_may_have_some, sys.path)) and not any(hasattr(each, "find_distributions") for each in others):
        return
    from importlib.metadata import entry_points  # which takes a sixth of a first call's time

    known = {(plugin.name, plugin.target) for plugin in _tried}  # where an interrupt ended the first attempt
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (_distribution(entry), entry.name)):
        if (entry.name, entry.value) not in known:
            _tried.append(_load_one(entry))


def _may_have_some(path: str) -> bool:
    """Return whether a distribution in a folder of `sys.path` may have plug-ins: True for an egg or an archive."""
    if path.endswith(".egg"):
        return True
    try:
        found = [each for each in os.listdir(path or os.curdir) if each.endswith((".dist-info", ".egg-info"))]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(map(_names_some, [os.path.join(path, each, "entry_points.txt") for each in found]))


def _names_some(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return GROUP.encode() in opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _load_one(entry: EntryPoint) -> Plugin:
    about = entry.name, entry.value, *_distribution(entry)
    try:
        found = entry.load()
        return Plugin(*about, result=found if isinstance(found, ModuleType) else found())
    except Exception as error:
        return Plugin(*about, error=error)


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    found = entry.dist
    return ("an unknown distribution", "") if found is None else (found.name, found.version)
