"""Graphs that users change by hand, and passes that are stopped: no crash, no loop, and no mode that stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import opwright
from opwright.autograd.engine import is_running
from opwright.autograd.nodes import Recorded
from opwright_core.core import fast

_testcapi = pytest.importorskip("_testcapi")


def product() -> opwright.Tensor:
    x = opwright.ones(2, requires_grad=True)
    return x * 2.0


def to_itself() -> opwright.Tensor:
    y = product()
    y.grad_fn.edges = (y.grad_fn,)
    return y


def by_turns() -> opwright.Tensor:
    y = product()
    z = y * 3.0
    y.grad_fn.edges = (z.grad_fn,)
    return z


def beside_a_leaf() -> opwright.Tensor:
    x = opwright.ones(2, requires_grad=True)
    y = x * 2.0
    z = y * x
    y.grad_fn.edges = (z.grad_fn,)
    return z


@pytest.mark.parametrize("circle", [to_itself, by_turns, beside_a_leaf])
@pytest.mark.parametrize("is_hooked", [False, True])
def test_a_pass_through_a_circle_is_refused(circle: Callable[[], opwright.Tensor], is_hooked: bool) -> None:
    y = circle()
    if is_hooked:
        y.register_hook(lambda grad: grad)
    with pytest.raises(RuntimeError, match="edges lead to older nodes"):
        y.sum().backward()
    assert opwright.is_grad_enabled()
    y.grad_fn.edges = ()


def test_a_node_does_not_become_one_of_other_memory() -> None:
    """Instances of classes of users lie elsewhere: the memory of one is not freed as that of the other."""

    class Mine(type(product().grad_fn)):  # type: ignore[misc]
        __slots__ = ()

        def __init_subclass__(cls) -> None:
            """Not adopted."""

    class Other(Mine):  # type: ignore[misc]
        __slots__ = ()

    node = product().grad_fn
    for _ in range(1000):
        try:
            node.__class__ = Other
        except TypeError:
            assert fast is not None  # "deallocator differs"
        node = product().grad_fn
    assert isinstance(node, Recorded)


def chain(count: int) -> opwright.Tensor:
    y = opwright.ones(2, requires_grad=True)
    for _ in range(count):
        y = y * 1.0
    return y


# Where a generator is not had, CPython 3.12 and 3.13 take one reference too many from its code, and end later.
# `def f(): return any(x for x in (0,))` shows it, called while one allocation after the other fails.
@pytest.mark.skipif(
    sys.version_info[:2] in [(3, 12), (3, 13)],
    reason="CPython 3.12 and 3.13 free the code of generators that they have no memory for",
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of generators that end without memory
@pytest.mark.parametrize("is_hooked", [False, True])
@np.errstate()  # NumPy's own blocks may lack the memory to end: `divide` and the others stay ignored
def test_recording_is_on_after_a_pass_without_memory(is_hooked: bool) -> None:
    """One allocation after the other fails, and no other: whatever is raised, the thread records again."""
    warm = product()
    warm.sum().backward()
    for failing in range(300):
        y = product().sum()
        if is_hooked:
            y.register_hook(lambda grad: grad)
        try:
            _testcapi.set_nomemory(failing, failing + 1)
            try:
                y.backward()
            finally:
                _testcapi.remove_mem_hooks()
        except Exception as error:  # NumPy makes other errors of some
            assert not isinstance(error, AssertionError)
        assert opwright.is_grad_enabled() and not is_running(), failing


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_a_node_is_shown_to_the_collector_once() -> None:
    """What a hook takes does not depend on how many nodes there are: the collector knows those that it was shown."""
    program = """
import gc, opwright
y = opwright.ones(2, requires_grad=True)
kept = []
for _ in range(3000):
    y = y * 1.0
    kept.append(y)
    y.register_hook(lambda grad: grad)
    assert gc.is_tracked(y.grad_fn)
y = y * 1.0
assert not gc.is_tracked(y.grad_fn)
gc.collect()
assert gc.is_tracked(y.grad_fn)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_ends_a_pass() -> None:
    """A long pass looks for signals: what comes in its first hundredth ends it, long before it is at the leaf."""
    program = """
import gc, signal, opwright
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
gc.disable()
x = y = opwright.ones(2, requires_grad=True)
for _ in range(1_000_000 if opwright.dispatch.core().name == "fast" else 30_000):
    y = y * 1.0
y.sum().backward(retain_graph=True)
x.grad = None
signal.setitimer(signal.ITIMER_REAL, 0.002)
try:
    y.sum().backward(retain_graph=True)
except KeyboardInterrupt:
    print("interrupted", x.grad is None, opwright.is_grad_enabled())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "interrupted True True\n", done.stderr
