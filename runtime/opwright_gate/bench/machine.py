"""Limits of this machine: bytes a second, by a stream of additions, and operations, by a product of matrices."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

__all__ = ["Machine", "machine", "seconds_of"]

# Bytes of three arrays: what is in a cache is faster than memory.
_STREAMS: Final = tuple(2**power for power in (16, 18, 20, 22, 24, 27))
_ROWS = 384


@dataclass(frozen=True)
class Machine:
    """The limits of a machine: bytes a second to and from memory, for calls that move so many, and operations a second
    on float32 and float64."""

    streams: Mapping[int, float]
    single: float
    double: float

    @property
    def bandwidth(self) -> float:
        """Return bytes a second to and from memory."""
        return self.streams[max(self.streams)]

    def arithmetic(self, itemsize: int) -> float:
        """Return operations a second on elements of so many bytes."""
        return self.single if itemsize <= 4 else self.double

    def moving(self, moved: float) -> float:
        """Return the seconds in which so many bytes are moved, as fast as a stream of about as many is."""
        size = min(self.streams, key=lambda each: abs(math.log(each / max(moved, 1))))
        return moved / self.streams[size]

    def best(self, operations: float, moved: float, itemsize: int) -> float:
        """Return the seconds that a call takes at best."""
        return max(operations / self.arithmetic(itemsize), self.moving(moved))


@cache
def machine() -> Machine:
    """Return what this machine can do, with as many threads as NumPy takes; measured at the first call, in about a
    second."""
    streams = {size: size / _stream(size // 24) for size in _STREAMS}
    return Machine(streams, _product(np.float32), _product(np.float64))


def _stream(elements: int) -> float:
    a, b, c = (np.ones(elements) for _ in range(3))
    return seconds_of(lambda: np.add(a, b, out=c), share=0.0)


def _product(dtype: Any) -> float:
    a = np.ones((_ROWS, _ROWS), dtype)
    out = np.empty_like(a)
    return float(2 * _ROWS**3 / seconds_of(lambda: np.matmul(a, a, out=out), share=0.0))


def seconds_of(call: Callable[[], Any], budget: float = 0.1, share: float = 0.5) -> float:
    """Return the median of the seconds of a call, over short rounds that take `budget` seconds together; with a `share`
    of 0 the least, which is what the machine can do."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, min(1000, int(2e-4 / once)))
    rounds = max(3, min(101, int(budget / (once * inner))))
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        found.append((time.perf_counter() - start) / inner)
    return sorted(found)[int(share * len(found))]
