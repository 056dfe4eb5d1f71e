"""Threads that define, register, call and drop: no wrong result, nothing half registered, and nothing left behind."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import opwright
from opwright import Tensor, dispatch
from opwright.dispatch import KeySet
from opwright.errors import DispatchError
from opwright.library import Library, custom_op, get_kernel
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import wrap

pytestmark = pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")

THREADS = 16
one_fallback = threading.Lock()  # a key has one at a time
NAMESPACE = "library_threads"
X = wrap(np.ones(2))


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def returning(number: int) -> Callable[[Tensor], int]:
    return lambda x: number


def wait_until_gone(name: str) -> None:
    """Another thread may be collecting it, or hold the lock, and drops it when it has done."""
    deadline = time.monotonic() + 60
    while name in registry.operators:
        gc.collect()
        assert time.monotonic() < deadline


class Worker(threading.Thread):
    """Each has operators of its own in a namespace of all, and adds kernels to one that all call."""

    def __init__(self, number: int, until: float) -> None:
        super().__init__()
        self.number = number
        self.until = until
        self.rounds = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        steps = itertools.cycle(
            (self.own_operator, self.shared_operator, self.fallback, self.lost, self.custom_operator)
        )
        try:
            while time.monotonic() < self.until or self.rounds < 5:
                next(steps)()
                self.rounds += 1
        except BaseException as error:
            self.error = error

    def own_operator(self) -> None:
        """Nobody else touches it: every step is seen at once, and the drop too."""
        name = f"own{self.number}"
        library = Library(NAMESPACE, "FRAGMENT")
        library.define(f"{name}(Tensor x) -> int")
        operator = getattr(getattr(opwright.ops, NAMESPACE), name).default
        library.impl(name, returning(self.number), "CompositeExplicitAutograd")
        assert operator(X) == self.number
        over = Library(NAMESPACE, "IMPL", "CPU")
        over.impl(name, returning(-self.number))
        assert (operator(X), operator(np.ones(1))) == (-self.number, -self.number)
        over.destroy()
        assert operator(X) == self.number
        library.destroy()
        with pytest.raises(DispatchError, match="no longer defined"):
            operator(X)
        with pytest.raises(AttributeError):
            getattr(getattr(opwright.ops, NAMESPACE), name)

    def shared_operator(self) -> None:
        """All override it: some thread's kernel answers, never none, and never one of a thread that is no worker."""
        operator = registry.operators[f"{NAMESPACE}::shared"]
        with opwright.library._scoped_library(NAMESPACE, "IMPL") as library:
            library.impl("shared", returning(self.number), ("CPU", "AutogradCPU")[self.number % 2])
            kernel = get_kernel(operator, ("CPU", "AutogradCPU")[self.number % 2])
            assert 0 <= operator(X) < THREADS
        try:
            assert 0 <= kernel(X) < THREADS
        except RuntimeError as error:
            assert "invalidated" in str(error)
        assert set(dispatch.table(operator)) >= {"CPU", "AutogradCPU"}

    def fallback(self) -> None:
        """A fallback changes every operator's table. It passes calls on."""

        def go_on(keyset: KeySet, op: opwright.ops.__class__, *args: object) -> object:
            return op.redispatch(keyset & KeySet.after("Tracer"), *args)  # type: ignore[attr-defined]

        with one_fallback, opwright.library._scoped_library("_", "IMPL", "Tracer") as library:
            library.fallback(go_on, with_keyset=True)
            with dispatch.include_keys("Tracer"):
                assert 0 <= registry.operators[f"{NAMESPACE}::shared"](X) < THREADS

    def lost(self) -> None:
        """Dropped by nobody but the garbage collector, in a cycle."""
        library = Library(NAMESPACE, "FRAGMENT")
        library.define(f"lost{self.number}(Tensor x) -> int")
        library.impl(f"lost{self.number}", returning(self.number), "CPU")
        assert registry.operators[f"{NAMESPACE}::lost{self.number}"](X) == self.number
        library.itself = library  # type: ignore[attr-defined]
        del library
        if self.rounds % 8 == 3:
            gc.collect()
        wait_until_gone(f"{NAMESPACE}::lost{self.number}")

    def custom_operator(self) -> None:
        """Defined, rendered, given gradients and another kernel, called and dropped; the code is shared by all."""

        def function(x: np.ndarray, k: int) -> np.ndarray:
            return x * k

        name = f"{NAMESPACE}::custom{self.number}"
        op = custom_op(name, function, mutates_args=())
        x = opwright.tensor([1.0, 2.0], requires_grad=True)
        assert (op(x, self.number).tolist(), op(np.ones(1), 2).tolist()) == ([self.number, 2 * self.number], [2])
        op.register_autograd(lambda ctx, grad: (grad * self.number, None))
        (grad,) = opwright.autograd.grad(op(x, 3).sum(), x)
        assert grad.tolist() == [self.number, self.number]
        op.register_kernel("cpu", lambda x, k: x + self.number)
        with opwright.no_grad():
            assert op(x, 0).tolist() == [1 + self.number, 2 + self.number]
        operator = op._opoverload
        del op
        wait_until_gone(name)
        with pytest.raises(DispatchError, match="no longer defined"):
            operator(X, 1)


@pytest.mark.parametrize("seconds", [3, pytest.param(30, marks=[pytest.mark.slow, pytest.mark.once])])
def test_threads_that_register_dispatch_and_drop(seconds: int) -> None:
    library = Library(NAMESPACE, "DEF")
    library.define("shared(Tensor x) -> int")
    library.impl("shared", returning(0), "CPU")
    before = dispatch.table(f"{NAMESPACE}::shared")
    workers = [Worker(number, time.monotonic() + seconds) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    gc.collect()
    assert dispatch.table(f"{NAMESPACE}::shared") == before
    library.destroy()
    for table in (registry.operators, registry.overloads, registry.kernels):
        assert not [name for name in table if name.startswith(f"{NAMESPACE}::")]


def test_garbage_waits_while_the_lock_is_held() -> None:
    """A library found to be garbage in the middle of a registration goes when that is done."""
    library = Library("waiting", "FRAGMENT")
    library.define("f(Tensor x) -> int")
    with registry.lock:
        del library
        gc.collect()
        with registry.lock:
            assert "waiting::f" in registry.operators
        assert "waiting::f" in registry.operators
    assert "waiting::f" not in registry.operators


PROGRAM = """
import gc
import numpy as np
import opwright
from opwright.library import Library

x = opwright.ones(2)

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

def use(number, namespace):
    library = Library(namespace, "FRAGMENT")
    name = f"operator{number}"
    library.define(f"{name}(Tensor x, int n=2) -> Tensor")
    library.impl(name, lambda x, n=2: x, "CPU")
    operator = getattr(getattr(opwright.ops, namespace), name)
    assert operator(x) is x and operator.default(np.ones(2)).shape == (2,)
    return library

def use_and_drop(count):
    for number in range(count):  # by turns in one namespace and in one of its own, dropped and forgotten
        library = use(number, f"leak{number}" if number % 2 else "leak")
        if number % 4 < 2:
            library.destroy()
        del library

use_and_drop(1000)
before = resident()
use_and_drop(4_000)
print(resident() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the memory of a process is read from /proc")
def test_thousands_of_operators_leave_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2.5
