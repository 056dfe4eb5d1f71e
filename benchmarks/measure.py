"""How a figure is taken: ours and the peer in turn, many short rounds, the median of each and of the ratios."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import opwright

Call = Callable[[], object]
# As a user has it: compiled modules are kept from one run to the next.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Figure:
    """One line of the table. `value` is what the budget bounds (a ratio, or seconds); `ours` and `peer` are `amounts`
    of seconds, or of bytes. Without a budget it is there to be watched."""

    work: str
    ours: float
    peer: float | None
    value: float
    budget: float | None = None
    unit: str = "×"
    amounts: str = "s"

    @property
    def verdict(self) -> str:
        """Whether the budget holds; nothing where there is none."""
        if self.budget is None:
            return ""
        return "holds" if self.value <= self.budget else "misses"


def budget(python: float | None, compiled: float | None) -> float | None:
    """Return the budget of what runs calls in this process: Python alone, or the compiled core."""
    return compiled if opwright.dispatch.core().name == "fast" else python


def per_call(call: Call, rounds: int) -> float:
    counter = range(rounds)
    start = time.perf_counter()
    for _ in counter:
        call()
    return (time.perf_counter() - start) / rounds


def ratio(
    work: str, ours: Call, peer: Call, budget: float | None = None, *, rounds: int = 500, repeats: int = 101
) -> Figure:
    """Median of ours, of the peer, and of the ratio of neighbouring rounds: what drifts, drifts for both."""
    pairs = _pairs(ours, peer, rounds, repeats)
    return Figure(
        work,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
        budget,
    )


def beyond(work: str, ours: Call, peer: Call, budget: float | None, *, rounds: int = 500, repeats: int = 101) -> Figure:
    """Seconds that ours takes beyond the peer."""
    pairs = _pairs(ours, peer, rounds, repeats)
    return Figure(
        work,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a - b for a, b in pairs),
        budget,
        "s",
    )


def _pairs(ours: Call, peer: Call, rounds: int, repeats: int) -> list[tuple[float, float]]:
    per_call(ours, rounds)
    per_call(peer, rounds)
    gc.collect()
    return [(per_call(ours, rounds), per_call(peer, rounds)) for _ in range(repeats)]


def seconds_of(code: str, *, repeats: int = 7) -> float:
    """Median seconds of a fresh interpreter that runs `code`, after one run that is not counted."""
    _run(code)
    return statistics.median(_run(code) for _ in range(repeats))


def _run(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
