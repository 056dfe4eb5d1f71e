"""The lock under which operators and kernels are registered, and what waits for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType

__all__ = ["RegistryLock"]


class RegistryLock:
    """A lock that its holder may take again. `when_free` is for the garbage collector, which must not wait.

    Note [Garbage under the lock]: a finalizer runs wherever the collector happens to: in a thread that holds this lock,
    between two changes that belong together, or in one that holds another lock, for which the holder of this one
    waits. So it neither changes the registry at once, nor waits: what it has to do is done when the lock is free.
    """

    __slots__ = ("_depth", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0  # how often the thread that holds the lock has taken it
        self._waiting: deque[Callable[[], None]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        self._lock.release()
        if self._waiting:
            self._run_waiting()

    def when_free(self, action: Callable[[], None]) -> None:
        """Do this with the lock held: now, if no thread holds it, else when it is free."""
        self._waiting.append(action)
        self._run_waiting()

    def _run_waiting(self) -> None:
        # Whoever holds the lock looks at what waits after letting go of it: what is added before that is not forgotten.
        while self._waiting and self._lock.acquire(blocking=False):
            try:
                if self._depth:  # this thread holds it: when it lets go
                    return
                self._depth += 1
                try:
                    while self._waiting:
                        self._waiting.popleft()()
                finally:
                    self._depth -= 1
            finally:
                self._lock.release()
