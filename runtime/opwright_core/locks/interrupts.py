"""Signals that wait: no handler written in Python runs, and raises, in the middle of what must be done as a whole."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any, Final, Protocol

from numpy import ndarray

__all__ = ["LONG", "PATIENCE", "HeldSignals", "has_long", "is_main_thread", "take"]

# What `signal` wraps, without its enumerations: a tenth of the time.
_signal: Final = importlib.import_module("_signal")
LONG: Final = 8388608  # elements: NumPy takes 4 ms or more for them, a helper thread 0.1 ms (Note [Long calls])
_NAMES: Final = (
    "SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGXCPU",
    "SIGBREAK",
)  # fmt: skip
_SIGNALS: Final = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))


def is_main_thread() -> bool:
    """Whether this is the thread that handlers of signals run in."""
    return threading.get_ident() == threading.main_thread().ident


def has_long(values: Iterable[Any], count: int) -> bool:
    """Return whether an array among the values, or in a list among them, has at least `count` elements."""
    for each in values:
        if type(each) is ndarray:
            if each.size >= count:
                return True
        elif type(each) is list and has_long(each, count):
            return True
    return False


class HeldSignals:
    """The signals that a Python function handles, noted until `deliver`; then that function is called.

    Note [Interrupts]: Python runs the handler of a signal between any two bytecodes of the main thread, and most
    handlers raise: Ctrl-C is a KeyboardInterrupt wherever the thread happens to be. Between two changes that belong
    together it would leave half of them; in a lock's own `__exit__` it would leave the lock held for ever. No `try`
    helps: the interrupt may come before the first bytecode in it, and the next one while the first is handled. So what
    must be done as a whole is done with the handlers replaced by one that only notes what came.

    Every order of events is harmless. While handlers are replaced one after another, and put back, those already
    replaced call the ones before them at once (`_is_on` is false), and what they raise does not keep the others from
    being put back. From the store to `_is_on` in `__init__` to that in `deliver` nothing is raised. Only a second
    signal, within the same microseconds, can leave replacements behind, which behave as what they replace. Only the
    main thread may make one; other threads run no handlers.
    """

    __slots__ = ("_before", "_is_on", "_noted")

    def __init__(self) -> None:
        self._is_on = False
        self._noted: list[tuple[int, FrameType | None]] = []
        self._before: dict[int, Any] = {}
        try:
            self._replace()  # (in a function: Python 3.13 leaves jumps of a loop in a `try` out of it)
            self._is_on = True
        except BaseException:
            self._put_back()
            raise

    def _replace(self) -> None:
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                _signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._is_on:
            self._noted.append((number, frame))
        else:
            self._before[number](number, frame)

    def deliver(self) -> None:
        """Put the handlers back, and call them for what came meanwhile. Raises what they raise."""
        try:
            self._is_on = False
            self._put_back()
        finally:
            try:
                self._put_back()  # the rest, where a handler raised
            finally:
                self._call_handlers()

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            if _signal.getsignal(number) == self._note:
                _signal.signal(number, handler)

    def _call_handlers(self) -> None:
        if self._noted:
            number, frame = self._noted.pop(0)
            try:
                self._before[number](number, frame)
            finally:
                self._call_handlers()


class _Lock(Protocol):
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...


PATIENCE: Final = 0.2  # seconds between two looks at the signals that came in a wait


def take(lock: _Lock, *, wait: bool = True) -> tuple[bool, HeldSignals | None]:
    """Take a lock with signals held, which the caller has to `deliver` (None: not in the main thread). Who waits may be
    interrupted; without `wait`, nobody does. Returns whether the lock was taken."""
    is_main = is_main_thread()
    while True:
        signals = HeldSignals() if is_main else None
        if lock.acquire(timeout=PATIENCE if wait else 0):
            return True, signals
        if signals is not None:
            signals.deliver()
        if not wait:
            return False, None
