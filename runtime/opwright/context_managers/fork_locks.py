"""ForkLock: a lock that a fork takes (Note [Forks] in `opwright_core.locks.forks`)."""

from __future__ import annotations

import threading

from opwright_core.locks.forks import hold_over_forks

__all__ = ["ForkLock"]


class ForkLock:
    """A lock that no other thread holds in a child process: `with fork_lock.lock`, which no signal divides. Its holder
    may take it again."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        hold_over_forks(self)

    def hold_for_fork(self, patience: float) -> bool:
        """Take the lock, unless that takes longer than so many seconds: then return False."""
        return self.lock.acquire(timeout=patience)

    def release_after_fork(self) -> None:
        """Let go of the lock again."""
        self.lock.release()

    def renew(self) -> None:
        """Forget who holds the lock: in a child process, where that thread is not."""
        self.lock = threading.RLock()
