"""Signals in long calls: the handler runs before the loop ends (Note [Interrupted loops])."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright.methods import values
from opwright_kernels.reducing import sorting

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no signals to a process of one's own there")

COUNT = 1 << 24
POINTS = 64  # elements by which it is seen how far a loop is
# Slow ones: a loop may end within the tenth of a second that signals wait at most.
CALLS: dict[str, Callable[[Any, Any], object]] = {
    "digamma": lambda x, out: opwright.digamma(x, out=out),
    "lgamma": lambda x, out: opwright.lgamma(x, out=out),
    "softmax of pairs": lambda x, out: opwright.softmax(x.reshape(-1, 2), -1, out=out.reshape(-1, 2)),
}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(opwright.dispatch.core().name != "fast", reason="loops of the compiled core")
@pytest.mark.parametrize("name", CALLS)
def test_a_signal_is_handled_before_the_loop_ends(name: str) -> None:
    """Each signal that was sent in the first quarter of a loop has ended it. A busy machine may run the thread that
    sends it later: then it is sent again, in another call."""
    for _ in range(50):
        sent_at, is_cut = _interrupt_once(name)
        if sent_at <= POINTS // 4:
            assert is_cut, f"sent at {sent_at} of {POINTS}"
            return
    pytest.fail("no signal was sent in time")


def _interrupt_once(name: str) -> tuple[int, bool]:
    """Run a call, and send a signal when the first element is written. Return how many of POINTS elements were written
    just after that, and whether the call raised before it wrote the last one."""
    written = np.zeros(COUNT, np.float32)
    x, out = opwright.full((COUNT,), 3.5), opwright.from_numpy(written)
    points, sent_at = written[:: COUNT // POINTS], POINTS
    is_over = threading.Event()

    def send() -> None:
        nonlocal sent_at
        while not written[0] and not is_over.is_set():
            pass
        if not is_over.is_set():
            os.kill(os.getpid(), signal.SIGUSR1)
            sent_at = int(np.count_nonzero(points))

    before = signal.signal(signal.SIGUSR1, _interrupt)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        CALLS[name](x, out)
        raised = False
    except KeyboardInterrupt:
        raised = True
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    is_cut = raised and not written[-1]
    CALLS[name](x, out)
    assert written.all()
    return sent_at, is_cut


@pytest.mark.parametrize("shape", [(), (0,), (7,), (30,), (3, 7), (30, 2), (2, 30), (0, 30), (30, 0), (2, 3, 4)])
def test_long_lists_are_made_of_parts(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_LISTED", 6)
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert values._nested(array) == array.tolist()


@pytest.mark.parametrize("shape", [(50,), (10, 5), (5, 10), (2, 5, 5)])
def test_long_sorts_are_made_of_parts(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """As short ones are not."""
    array = seeds.numpy_generator(0).integers(0, 9, shape)
    for dim in range(-1, len(shape)):
        order = np.argsort(array, axis=dim, kind="stable")
        whole = sorting._in_order(np, array, order, dim)
        with monkeypatch.context() as patched:
            patched.setattr(sorting, "_LONG", 7)
            assert np.array_equal(sorting._in_order(np, array, order, dim), whole)
        assert np.array_equal(whole, np.sort(array, axis=dim))
