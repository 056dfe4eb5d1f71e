"""The lock under which operators and kernels are registered, and what waits for it."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import TracebackType

from opwright_core.locks.forks import hold_over_forks
from opwright_core.locks.interrupts import HeldSignals, is_main_thread, take

__all__ = ["RegistryLock"]


class RegistryLock:
    """A lock that its holder may take again, under which no handler of a signal runs (Note [Interrupts]), and which no
    other thread holds in a child process (Note [Forks]). `watch` is for what the garbage collector finds, which must
    not wait.

    Note [Garbage under the lock]: a finalizer runs wherever the collector happens to: in a thread that holds this lock,
    between two changes that belong together, or in one that holds another lock, for which the holder of this one
    waits. So it neither changes the registry at once, nor waits: what it has to do is done when the lock is free.
    What died is noted by a weak reference whose callback is a function written in C, `deque.append`, which no interrupt
    divides; a second callback looks whether the lock is free. Where an interrupt ends that, the next who lets go of the
    lock does what is left.
    """

    __slots__ = ("__weakref__", "_depth", "_held_signals", "_lock", "_owner", "_waiting", "_watched")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None  # the thread that holds the lock
        self._depth = 0  # how often it has taken it
        self._held_signals: HeldSignals | None = None
        self._waiting: deque[_Death] = deque()
        self._watched: set[_Death] = set()
        hold_over_forks(self)

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._owner != me:
            _, self._held_signals = take(self._lock)
            self._owner = me
            self._depth = 1
            try:
                self._do_waiting()  # what died before must not be met any more, whoever was to see to it
            except BaseException:  # nobody else lets go of the lock then
                self.__exit__(None, None, None)
                raise
        else:
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            signals = self._release()
            if self._waiting:
                self._run_waiting()
            if signals is not None:
                signals.deliver()

    def is_held(self) -> bool:
        """Whether this thread holds the lock."""
        return self._owner == threading.get_ident()

    def _release(self) -> HeldSignals | None:
        signals, self._held_signals = self._held_signals, None
        self._owner = None
        self._lock.release()
        return signals

    def watch(self, owner: object, action: Callable[[], None]) -> Callable[[], None]:
        """Do this with the lock held when `owner` is garbage: at once, if no thread holds it, else when it is free.
        Returns what calls that off; it does nothing at the end of the program, where nobody is left to see it."""
        weakref.finalize(owner, self._run_waiting).atexit = False
        death = _Death(owner, self._waiting.append)  # (the newer one of two callbacks comes first)
        death.action = action
        self._watched.add(death)

        def call_off() -> None:
            death.action = None
            self._watched.discard(death)

        return call_off

    def _run_waiting(self) -> None:
        # Whoever holds the lock looks at what waits after letting go of it: what is added before that is not forgotten.
        signals = HeldSignals() if is_main_thread() else None
        while self._waiting and self._lock.acquire(blocking=False):
            self._owner, self._depth = threading.get_ident(), 1
            try:
                self._do_waiting()
            finally:
                self._depth = 0
                self._release()
        if signals is not None:
            signals.deliver()

    def _do_waiting(self) -> None:
        while self._waiting:
            death = self._waiting[0]
            try:
                if death.action is not None:
                    death.action()
            except Exception:  # what fails is not tried again; what is interrupted is
                death.action = None
                raise
            self._waiting.popleft()
            self._watched.discard(death)

    def hold_for_fork(self, patience: float) -> bool:
        """Take the lock, unless that takes longer than so many seconds: then return False."""
        if self._owner != threading.get_ident():
            if not self._lock.acquire(timeout=patience):
                return False
            self._owner = threading.get_ident()
        self._depth += 1
        return True

    def release_after_fork(self) -> None:
        """Let go of the lock again."""
        self.__exit__(None, None, None)

    def renew(self) -> None:
        """Forget who holds the lock: in a child process, where that thread is not."""
        self._lock = threading.Lock()
        self._owner, self._depth, self._held_signals = None, 0, None


class _Death(weakref.ref[object]):
    """A weak reference to what has to be cleaned up after, and how."""

    __slots__ = ("action",)
    action: Callable[[], None] | None
