"""A program of its own: threads of Python share the pool while the main thread forks, and while signals interrupt it.

`python pooled.py FORKS`: every child and the parent compute the same bits, the workers take no signals, and a fork with
no loop running finds one thread.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np

import opwright
from opwright_core.core import fast

_PATIENCE = 60  # seconds until a child counts as hung
X = opwright.from_numpy(np.linspace(-5, 5, 300_001))


class Alarm(Exception):
    """What the handler of the timer raises."""


def compute() -> bytes:
    return bytes(opwright.exp(X).numpy()) + bytes(opwright.sum(X * 3).numpy())


def threads_here() -> int:
    return len(list(Path("/proc/self/task").iterdir())) if os.path.exists("/proc/self/task") else 1


def fork(wanted: bytes) -> None:
    """Fork, and have the child compute twice; the second time it has a pool of its own."""
    child = os.fork()
    if child == 0:
        signal.alarm(_PATIENCE)
        is_right = threads_here() == 1 and compute() == wanted == compute() and threads_here() > 1
        os._exit(0 if is_right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"a child ended with {os.waitstatus_to_exitcode(status)}"
    assert compute() == wanted


def fork_among_threads(wanted: bytes, forks: int) -> None:
    """Fork while other threads have the pool, or want it."""
    is_over, wrong = threading.Event(), []

    def work() -> None:
        while not is_over.is_set():
            if compute() != wanted:
                wrong.append(1)

    running = [threading.Thread(target=work) for _ in range(3)]
    for each in running:
        each.start()
    try:
        for _ in range(forks):
            fork(wanted)
    finally:
        is_over.set()
        for each in running:
            each.join()
    assert not wrong


def interrupt(wanted: bytes, times: int) -> None:
    """Have a timer interrupt loops: its handler runs in this thread, and the pool is free again."""
    rung = 0

    def ring(*_: object) -> None:
        assert threading.current_thread() is threading.main_thread()
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    while rung < times:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0001 * rung)
        try:
            while True:
                compute()
        except Alarm:
            rung += 1
    before = fast.count_splits()
    assert compute() == wanted
    assert fast.count_splits() > before


if __name__ == "__main__":
    forks = int(sys.argv[1])
    opwright.set_num_threads(1)
    wanted = compute()
    opwright.set_num_threads(3)
    assert compute() == wanted
    fork(wanted)
    fork_among_threads(wanted, forks)
    interrupt(wanted, forks)
    print(f"{forks} forks and interrupts")
