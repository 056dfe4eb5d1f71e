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
from opwright_core.locks.long_calls import call_in_parts, call_in_thread

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


# -- Part by part

Shapes = tuple[tuple[int, ...], ...]
SHAPES: tuple[Shapes, ...] = (
    ((40,), (40,)), ((5, 8), (5, 8)), ((5, 8), (1, 8)), ((5, 8), (8,)), ((3, 4, 6), (4, 1)), ((4, 30), ()),
)  # fmt: skip


@pytest.mark.parametrize("order", ["C", "F", "turned", "every second"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_parts_are_what_the_whole_is(shapes: Shapes, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "LONG", 7)
    shape = shapes[0]
    x, y = (seeds.numpy_generator(len(each)).random(each) for each in shapes)
    out = np.full((*shape[:-1], 2 * shape[-1]), -1.0, order="F" if order == "F" else "C")
    out = out[..., ::2] if order == "every second" else np.empty(shape[::-1]).T if order == "turned" else out[..., ::2]
    sizes: list[int] = []

    def hypot(*args: Any, out: Any) -> None:
        sizes.append(out.size)
        np.hypot(*args, out=out)

    assert call_in_parts(hypot, x, y, out) is out
    assert len(sizes) > 1 and sum(sizes) == out.size
    assert np.array_equal(out, np.hypot(x, y))
    call_in_parts(hypot, x, 2.5, out)
    assert np.array_equal(out, np.hypot(x, 2.5))


def test_parts_of_an_operand_that_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operand that is `out` goes part by part; one that only shares memory with it goes all at once."""
    monkeypatch.setattr(long_calls, "LONG", 7)
    x = np.arange(40.0)
    assert call_in_parts(np.add, x, x, x).tolist() == [2.0 * each for each in range(40)]
    x = np.arange(40.0)
    call_in_parts(np.add, x[:-1], x[1:], x[1:])
    assert x[1:].tolist() == [2.0 * each + 1 for each in range(39)]


@needs_signals
def test_a_signal_waits_for_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "LONG", 10)
    out = np.zeros(40)
    count = 0

    def fill(value: float, *, out: Any) -> None:
        nonlocal count
        count += 1
        out[...] = value
        if count == 2:
            os.kill(os.getpid(), signal.SIGUSR1)

    with handled(), pytest.raises(Late):
        call_in_parts(fill, 3.0, out)
    assert out.tolist() == [3.0] * 20 + [0.0] * 20


@pytest.mark.parametrize("kind", ["out=", "in place"])
def test_operators_write_long_arrays_part_by_part(kind: str) -> None:
    x = opwright.full((LONG + 5,), 3.0, dtype=opwright.float64)
    x[::3] = -2
    y = opwright.full((LONG + 5,), 2.0, dtype=opwright.float64)
    wanted = np.arctan2(x.numpy(), y.numpy())
    for _ in range(2):  # the second call finds what the first one has cached
        found = opwright.atan2(x, y, out=opwright.empty_like(x)) if kind == "out=" else x.clone().atan2_(y)
        assert np.array_equal(found.numpy(), wanted)


# -- Operands that change after an interrupt


@needs_signals
@pytest.mark.parametrize("kind", ["positions", "a mask", "a list"])
def test_an_index_that_changes_after_an_interrupt_is_not_read(kind: str) -> None:
    """The helper thread has copies: NumPy checked the positions before it reads or writes by them."""
    index: Any = np.array([True, False, True]) if kind == "a mask" else np.array([0, 2])
    before, values, seen = index.copy(), np.arange(3.0), []
    is_copied, may_read, has_read = threading.Event(), threading.Event(), threading.Event()

    def read(values: Any, index: Any) -> None:
        is_copied.set()
        may_read.wait(60)
        seen.append((values, index[0] if type(index) is list else index))
        has_read.set()

    def interrupt(values: Any, index: Any) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        read(values, index)

    with handled(), pytest.raises(Late):
        call_in_thread(interrupt, values, [index] if kind == "a list" else index)
    assert is_copied.wait(60)
    index[...] = 1 if kind == "a mask" else 2**40
    may_read.set()
    assert has_read.wait(60)
    assert seen[0][0] is values  # numbers are not copied
    assert np.array_equal(seen[0][1], before)


CHANGED = f"""
import os, signal, threading
import numpy as np
import opwright
from opwright_core.locks import long_calls

class Late(Exception): pass
def late(number, frame): raise Late
signal.signal(signal.SIGUSR1, late)
begun, helpers = threading.Event(), []
copy, start = long_calls._with_own_positions, threading.Thread.start
def copied(*args):
    found = list(copy(*args))
    begun.set()
    return found
def interrupted(self):
    begun.clear()
    helpers.append(self)
    start(self)
    begun.wait(60)
    os.kill(os.getpid(), signal.SIGUSR1)
long_calls._with_own_positions = copied
calls = dict(
    masked_scatter=lambda x, i, m, b: opwright.masked_scatter(x, m, x),
    take_along_dim=lambda x, i, m, b: opwright.take_along_dim(x, i, 0),
    index_reduce=lambda x, i, m, b: opwright.index_reduce(x, 0, i, x, "prod"),
    masked_select=lambda x, i, m, b: opwright.masked_select(x, m),
    index_put=lambda x, i, m, b: opwright.index_put(x, (i,), x),
    sort=lambda x, i, m, b: opwright.sort(i),
    topk=lambda x, i, m, b: opwright.topk(i, 9),
    unique=lambda x, i, m, b: opwright.unique(b, dim=0),
    nonzero=lambda x, i, m, b: opwright.nonzero(m),
)
for name, call in calls.items():
    print(name, flush=True)
    arrays = [np.zeros({LONG}, each) for each in ("f8", "i8", "?", "u1")]
    x, i, m, b = arrays
    given = [opwright.from_numpy(each) for each in (x, i, m, b[:, None])]
    i[::5], m[::7], b[::3] = 1, True, 200
    threading.Thread.start = interrupted
    try:
        call(*given)
    except Late:
        pass
    threading.Thread.start = start
    turn = 0
    while any(each.is_alive() for each in helpers):
        i[turn % 3 :: 3], m[turn % 2 :: 2], b[turn % 5 :: 5] = (2**40, -3, 0)[turn % 3], turn % 3 != 1, turn % 251
        turn += 1
    helpers.clear()
"""


@needs_signals
def test_a_process_that_changes_operands_after_an_interrupt_does_not_crash() -> None:
    done = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-100:]
