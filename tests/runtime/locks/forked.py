"""A program of its own: forks while threads register, call, draw and go backward; every child does the same things.

`python forked.py FOLDER FORKS`; the folder holds a generated package and a plug-in (`test_interrupts`).
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import opwright
from opwright import library
from opwright.library import Library

LEAF = opwright.ones(50, requires_grad=True)
X = np.arange(3.0)
_PATIENCE = 60  # seconds until a child counts as hung


def define_library(name: str) -> None:
    made = Library(f"forked_{name}", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x.clone(), "CPU")
    assert np.array_equal(getattr(opwright.ops, f"forked_{name}").f(X), X)
    made.destroy()


def define_custom_operator(name: str) -> None:
    def multiply(x: opwright.Tensor, n: int) -> opwright.Tensor:
        return x * n

    made = library.custom_op(f"forked::{name}", multiply, mutates_args=())
    made.register_autograd(lambda ctx, grad: (grad, None))
    made(opwright.ones(2, requires_grad=True), 2).sum().backward()


def go_backward(name: str) -> None:
    (LEAF * 2).sum().backward()


def draw(name: str) -> None:
    opwright.randn(1000)
    opwright.manual_seed(1)


def register_backend(name: str) -> None:
    class Array:
        def __init__(self, values: np.ndarray) -> None:
            self.values, self.shape, self.dtype = values, values.shape, values.dtype

    opwright.register_backend(f"forked_{name}", array_type=Array, from_numpy=Array).remove()


def load_what_is_lazy(name: str) -> None:
    sys.modules["interrupted_ops"].ops.hypotenuse(X, X)
    opwright.plugins.load()
    opwright.ones(2, device="meta") + 1


# Each in a thread of its own. All of it in the child, too; backends have keys for few at once.
ACTIONS: tuple[Callable[[str], None], ...] = (
    define_library, define_custom_operator, go_backward, draw, register_backend, load_what_is_lazy,
)  # fmt: skip


def main(folder: str, forks: int) -> None:
    sys.path.insert(0, folder)
    importlib.import_module("interrupted_ops")  # what a fork finds half imported by users is lost to the child
    sys.setswitchinterval(1e-4)
    stop = threading.Event()
    errors: list[BaseException] = []

    def churn(action: Callable[[str], None], name: str) -> None:
        try:
            while not stop.is_set():
                action(name)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=churn, args=(action, f"t{n}")) for n, action in enumerate(ACTIONS)]
    for thread in threads:
        thread.start()
    try:
        for number in range(forks):
            _fork_once(number)
            assert not errors, errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(f"{forks} forks")


def _fork_once(number: int) -> None:
    child = os.fork()
    if not child:
        try:
            for action in ACTIONS:
                action("child")
            os._exit(0)
        except BaseException as error:
            print(f"in child {number}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
    end = time.monotonic() + _PATIENCE
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, f"child {number} ended with {status}"
            return
        if time.monotonic() > end:
            os.kill(child, signal.SIGABRT)
            raise AssertionError(f"child {number} hangs")
        time.sleep(0.001)


if __name__ == "__main__":
    import faulthandler

    faulthandler.enable()
    main(sys.argv[1], int(sys.argv[2]))
