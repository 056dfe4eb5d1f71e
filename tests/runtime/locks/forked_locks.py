"""A program of its own: forks while a thread takes two locks in the order that forks do not, and that of `logging`.

`python forked_locks.py FOLDER FORKS` (of the folder, nothing is used)."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time

from opwright.context_managers.fork_locks import ForkLock


def main(forks: int) -> None:
    logging = importlib.import_module("logging")  # after Opwright, as the parser does
    first, second = ForkLock(), ForkLock()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with second.lock:
                time.sleep(0.01)
                with first.lock:
                    logging.getLogger(f"forked.{time.monotonic()}")  # takes a lock that hooks of forks hold
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    begin = time.monotonic()
    for _ in range(forks):
        child = os.fork()
        if not child:
            os._exit(0 if first.lock.acquire(timeout=1) and second.lock.acquire(timeout=1) else 1)
        assert os.waitpid(child, 0)[1] == 0, "a lock is held in the child"
    assert time.monotonic() - begin < forks * 5, "forks gave up waiting"
    stop.set()
    thread.join()
    print(f"{forks} forks")


if __name__ == "__main__":
    main(int(sys.argv[2]))
