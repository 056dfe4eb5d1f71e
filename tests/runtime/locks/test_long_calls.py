"""Long calls of NumPy in a helper thread (Note [Long calls]): a signal ends the wait, and results are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright_core.locks import long_calls
from opwright_core.locks.interrupts import LONG
from opwright_core.locks.long_calls import call_in_thread

needs_signals = pytest.mark.skipif(os.name == "nt", reason="no signals to a process of one's own there")


class Late(Exception):
    """What a handler raises: no KeyboardInterrupt, and so nothing that only `except Exception` lets through."""


def _late(number: int, frame: FrameType | None) -> None:
    raise Late


@contextmanager
def handled() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, _late)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@needs_signals
def test_a_signal_ends_the_wait_for_a_call_that_has_not_ended() -> None:
    """The function ends only after the interrupt was raised: no clock is read."""
    may_end, has_ended = threading.Event(), threading.Event()

    def slow() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        may_end.wait(60)
        has_ended.set()

    with handled(), pytest.raises(Late):
        call_in_thread(slow)
    assert not has_ended.is_set()
    may_end.set()
    assert has_ended.wait(60)


def test_what_it_returns_and_raises_are_the_function_s() -> None:
    def refuse() -> None:
        raise ValueError("no")

    assert call_in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ValueError, match="no") as caught:
        call_in_thread(refuse)
    names = [each.name for each in traceback.extract_tb(caught.value.__traceback__)]
    assert names[0] == test_what_it_returns_and_raises_are_the_function_s.__name__ and names[-1] == "refuse"


def test_the_context_is_that_of_the_caller() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        call_in_thread(np.divide, np.ones(1), np.zeros(1))
    with opwright.no_grad():
        assert not call_in_thread(opwright.is_grad_enabled)


def test_other_threads_make_the_call_themselves() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(call_in_thread(threading.get_ident)))
    thread.start()
    ident = thread.ident
    thread.join()
    assert found == [ident]


def test_where_no_thread_can_be_started_the_main_thread_makes_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert call_in_thread(threading.get_ident) == threading.get_ident()


# A kernel of each way to the helper thread: a row, a function that the core falls back to, one that no row has.
CALLS: dict[str, Callable[[Any], Any]] = {
    "floor_divide": lambda x: opwright.floor_divide(x, 2),
    "sort": lambda x: opwright.sort(x)[0],
    "logcumsumexp": lambda x: opwright.logcumsumexp(x, 0),
    "unique": opwright.unique,
}


@pytest.mark.parametrize("name", CALLS)
def test_long_calls_of_operators_give_what_short_ones_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    started = threading.Thread.start

    def note(self: threading.Thread) -> None:
        ran.append(self.name)
        started(self)

    x = opwright.full((LONG,), 3.0)
    x[::2] = 1
    monkeypatch.setattr(threading.Thread, "start", note)
    for _ in range(2):  # the second call finds what the first one has cached
        ran.clear()
        long = CALLS[name](x)
        assert "opwright long call" in ran
    with monkeypatch.context() as patched:
        patched.setattr(long_calls, "is_main_thread", lambda: False)
        assert np.array_equal(long.numpy(), CALLS[name](x).numpy())


def test_what_writes_or_draws_stays_in_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = opwright.full((LONG,), 3.0), opwright.empty(LONG)

    def refuse(*args: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(threading.Thread, "start", refuse)
    opwright.floor_divide(x, 2, out=out)
    x.floor_divide_(2)
    x.uniform_()
    opwright.bernoulli(x)
    opwright.scatter_add(opwright.zeros(3), 0, opwright.zeros(3, dtype=opwright.int64), x[:3])


@needs_signals
def test_an_exception_of_a_handler_is_not_taken_for_one_of_the_kernel() -> None:
    """Python would compute the result again, and the exception would be lost."""
    x = opwright.full((LONG,), 3.0)
    order = seeds.numpy_generator(0).permutation(LONG).astype(np.float64)
    shuffled = opwright.from_numpy(order)
    for call in (lambda: opwright.sort(shuffled), lambda: opwright.floor_divide(x, 2)):
        call()
        started = threading.Thread.start

        def start(self: threading.Thread, started: Any = started) -> None:
            started(self)
            os.kill(os.getpid(), signal.SIGUSR1)

        with handled(), pytest.MonkeyPatch.context() as patched:
            patched.setattr(threading.Thread, "start", start)
            with pytest.raises(Late):
                call()


@needs_signals
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_a_process_forks_and_exits_while_a_dropped_call_runs() -> None:
    program = f"""
import os, signal, threading, numpy as np, opwright
def late(number, frame): raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, late)
x = opwright.from_numpy(np.random.default_rng(0).random({2 * LONG}))
start = threading.Thread.start
def interrupted(self):
    start(self)
    os.kill(os.getpid(), signal.SIGUSR1)
threading.Thread.start = interrupted
try:
    opwright.sort(x)
except KeyboardInterrupt:
    threading.Thread.start = start
    pid = os.fork()
    if not pid:
        assert opwright.sort(x[:100])[0].shape == (100,)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    print("interrupted")
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
