"""Draws of many numbers, which the core makes slice by slice: the numbers are the same, and a signal ends the call."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import opwright
from opwright_core.arrays.dtypes import float32, float64
from opwright_core.random_state.generator import Generator
from opwright_core.random_state.twister import random_order

MANY = 3 << 20  # more than a slice
# What is drawn in parts has to be an even number of words.
PARTS = (16, 1 << 20, MANY - (1 << 20) - 16)
DRAWS: dict[str, Callable[[Generator, int], Any]] = {
    "words": lambda source, count: source.raw32(count),
    "float32": lambda source, count: source.uniform(count, float32),
    "float64": lambda source, count: source.uniform(count, float64),
    "normal": lambda source, count: source.normal(count, float32),
    "normals one by one": lambda source, count: source.single_normals(count, 0, 1),
    "short integers": lambda source, count: source.integers(count, 0, 1000),
    "long integers": lambda source, count: source.integers(count, 0, 1 << 40),
}


@pytest.mark.parametrize("name", DRAWS)
def test_many_numbers_are_those_of_several_draws(name: str) -> None:
    source = Generator().manual_seed(3)
    parts = [DRAWS[name](source, count) for count in PARTS]
    other = Generator().manual_seed(3)
    assert np.array_equal(DRAWS[name](other, MANY), np.concatenate(parts))
    assert np.array_equal(other.get_state(), source.get_state())


@pytest.mark.parametrize("count", [0, 1, 2, 17, 1000])
def test_a_random_order_exchanges_each_position_for_one_from_there_on(count: int) -> None:
    order = list(range(count))
    words = Generator().manual_seed(5).raw32(max(count - 1, 0)).tolist()
    for position, word in enumerate(words):
        other = position + word % (count - position)
        order[position], order[other] = order[other], order[position]
    source = Generator().manual_seed(5)
    assert source.permutation(count).tolist() == order
    drawn = Generator().manual_seed(5)
    drawn.raw32(len(words))
    assert np.array_equal(source.get_state(), drawn.get_state())


def test_a_long_random_order_has_each_number() -> None:
    order = Generator().manual_seed(5).permutation(MANY)
    assert np.array_equal(np.sort(order), np.arange(MANY))
    assert not np.array_equal(order[:100], np.arange(100))


LONG = 1 << 24
CALLS: dict[str, Callable[[Generator, Any], object]] = {
    "random order": lambda source, x: random_order(source._bits, source._words, x.view(opwright.int64).numpy()),
    "integers": lambda source, x: x.random_(0, 10, generator=source),
    "normal": lambda source, x: x.normal_(generator=source),
    "one by one": lambda source, x: x.log_normal_(generator=source),
    "exponential": lambda source, x: x.exponential_(generator=source),
}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="no signals to a process of one's own there")
@pytest.mark.skipif(opwright.dispatch.core().name != "fast", reason="loops of the compiled core")
@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_a_draw(name: str) -> None:
    """The thread that sends the signal goes on when the call lets go of Python's lock. If that is too late, the signal
    is sent again, in another call."""
    x = opwright.zeros(LONG, dtype=opwright.float64)
    whole = Generator().manual_seed(0)
    CALLS[name](whole, x)
    before = signal.signal(signal.SIGUSR1, _interrupt)
    try:
        assert any(_is_ended(CALLS[name], x, whole.get_state()) for _ in range(50))
    finally:
        signal.signal(signal.SIGUSR1, before)


def _is_ended(call: Callable[[Generator, Any], object], x: Any, end: Any) -> bool:
    """Return whether a signal ended a call after its first number, before its last."""
    source, begins = Generator().manual_seed(0), threading.Event()

    def send() -> None:
        begins.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        begins.set()
        call(source, x)
        sender.join()
    except KeyboardInterrupt:
        sender.join()
        start = Generator().manual_seed(0).get_state()
        return not np.array_equal(source.get_state(), start) and not np.array_equal(source.get_state(), end)
    return False
