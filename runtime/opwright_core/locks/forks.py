"""Forks: what `os.fork` must not divide is kept whole, locks and the loading of modules.

Note [Forks]: a child process has one thread, a copy of the one that forked. What another thread held it holds for ever,
and what another had done by half stays so: a child would wait for a lock, or for a module that nobody goes on loading.
So a fork waits until it holds our locks, and until no other thread is loading a module of ours. What only computes for
us (the parser, the templates) does so under a lock of ours, a `ForkLock`. A fork that would have to wait too long, as
the other thread waits for something of this one, goes on all the same: the child then has new locks, and loads anew
what was half loaded. Hooks of forks run newest first: those of `logging` take a lock that the parser's library needs
while it holds ours, so they are registered before ours, and run after them.
"""

from __future__ import annotations

import logging  # noqa: F401 (its hooks come before ours: Note [Forks])
import os
import sys
import threading
import time
import weakref
from typing import Any, Final, Protocol

from opwright_core.locks.interrupts import HeldSignals, is_main_thread

__all__ = ["hold_over_forks", "wait_for_imports_of"]

_PATIENCE: Final = 30.0  # seconds
_TURN: Final = 0.02  # seconds in which others come no further than to our locks, then in which they do
_packages: Final = {
    "opwright",
    "opwright_bindings",
    "opwright_codegen",
    "opwright_core",
    "opwright_gate",
    "opwright_kernels",
    "jinja2",
    "lark",
    "markupsafe",
    "sympy",
    "yaml",
}
# By name of module, a weak reference to the lock that its importer holds.
_module_locks: Final[dict[str, Any]] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})


class Lock(Protocol):
    """A lock that a fork takes."""

    def hold_for_fork(self, patience: float) -> bool:
        """Take the lock, unless that takes longer than so many seconds: then return False."""

    def release_after_fork(self) -> None:
        """Let go of the lock again."""

    def renew(self) -> None:
        """Forget who holds the lock: in a child process, where that thread is not."""


_locks: Final[list[weakref.ref[Any]]] = []


def hold_over_forks(lock: Lock) -> None:
    """Have forks take a lock."""
    _locks.append(weakref.ref(lock, _locks.remove))


def wait_for_imports_of(package: str) -> None:
    """Have forks wait while another thread imports a module of this package."""
    _packages.add(package)


def _loading_elsewhere() -> list[str]:
    """Return the modules that other threads are importing."""
    me = threading.get_ident()
    held = [(name, lock) for name, reference in list(_module_locks.items()) if (lock := reference()) is not None]
    return [name for name, lock in held if lock.owner not in (None, me)]


def _is_anyone_busy() -> bool:
    """Whether another thread is importing a module of ours."""
    return any(name.partition(".")[0] in _packages for name in _loading_elsewhere())


def _forget_half_loaded() -> None:
    """Forget these modules, in a child process: nobody goes on loading them, nor lets go of their locks."""
    for name in _loading_elsewhere():
        _module_locks.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


class _Fork:
    """The state of one fork: what is held over it."""

    def __init__(self) -> None:
        self.signals = HeldSignals() if is_main_thread() else None
        self.held: list[Lock] = []
        self.missed: list[Lock] = []
        end = time.monotonic() + _PATIENCE
        self.take(end)
        while self.waits_for_others() and time.monotonic() < end:
            self.release()  # what they do may need our locks
            time.sleep(_TURN)
            self.take(time.monotonic() + _PATIENCE)  # patience with a slow import is none with locks

    def waits_for_others(self) -> bool:
        """Whether others are still busy after a while in which nobody can begin with anything that needs our locks."""
        end = time.monotonic() + _TURN
        while is_busy := _is_anyone_busy():
            if time.monotonic() > end:
                break
            time.sleep(0.0005)
        return is_busy

    def take(self, end: float) -> None:
        """Take all locks. Who holds one may wait for another that is held already: so where one cannot be had within a
        short while, all are let go of, and that one is waited for first. At the end, those are taken that can be."""
        order = [lock for reference in list(_locks) if (lock := reference()) is not None]
        while (missed := self.first_missed(order, end)) is not None:
            self.release()
            if time.monotonic() > end:
                self.missed = [lock for lock in order if not self.holds(lock, 0)]
                return
            order.remove(missed)
            order.insert(0, missed)

    def first_missed(self, order: list[Lock], end: float) -> Lock | None:
        for lock in order:
            if not self.holds(lock, _TURN if self.held else max(0.0, end - time.monotonic())):
                return lock
        return None

    def holds(self, lock: Lock, patience: float) -> bool:
        """Whether a lock could be taken within so many seconds."""
        is_held = lock.hold_for_fork(patience)
        if is_held:
            self.held.append(lock)
        return is_held

    def release(self) -> None:
        while self.held:
            self.held.pop().release_after_fork()

    def end(self, is_child: bool) -> None:
        if is_child:
            _forget_half_loaded()
            for lock in self.missed:
                lock.renew()
        self.release()
        if self.signals is not None:
            self.signals.deliver()


_forks: Final = threading.local()  # two threads may fork at once


def _before() -> None:
    _forks.current = _Fork()


def _after(is_child: bool) -> None:
    current: _Fork | None = _forks.__dict__.pop("current", None)
    if current is not None:
        current.end(is_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=lambda: _after(False), after_in_child=lambda: _after(True))
