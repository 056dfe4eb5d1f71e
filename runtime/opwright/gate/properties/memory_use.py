"""Memory: a call keeps nothing."""

from __future__ import annotations

import gc
import itertools
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from opwright.gate.cases import Case
from opwright.gate.memory import allocated
from opwright.gate.properties.property import Problem, Property
from opwright.gate.samples import Samples
from opwright.gate.subjects import Subject
from opwright.gate.verdicts import Verdict
from opwright.testing import checking

__all__ = ["Memory"]

_CALLS = 200
_LARGE_CALLS = 40
_FEWEST = 10
_SMALLEST = 16  # bytes that a call leaves
_ENOUGH = 100  # calls, for a growth in objects to tell
_SECONDS = 0.05  # for each round
_PAGES = Path("/proc/self/statm")


class Memory(Property):
    """References and growth."""

    name, title, group = "keeps-nothing", "Keeps no memory", "memory"
    finds = "An argument or result that is still held when the caller has dropped it, and memory that grows with calls."
    example = "seen = []\n\n\ndef kernel(x):\n    seen.append(x)\n    return x * 2"
    mend = "Keep nothing between calls; free in C what was allocated."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for what is held, and for growth."""
        case = samples.first
        if case is None or not case.arrays:
            return
        held = _held(subject, case)
        if held:
            yield self.broken(subject, case, Problem("keeps-reference", f"{held} is still held after the call"))
        blocks, calls = _growth(subject, case, sys.getallocatedblocks)
        if calls >= _ENOUGH and blocks >= calls // 2:
            why = f"{calls} calls leave {blocks} objects"
            if not held:
                yield self.broken(subject, case, Problem("memory-grows", why))
            return
        grown, calls = _growth(subject, case, allocated)
        if calls >= _ENOUGH and grown >= _SMALLEST * calls:
            why = f"{calls} calls leave {grown:,} bytes that malloc gave"
            if not held:
                yield self.broken(subject, case, Problem("memory-grows", why))
            return
        blocks, calls = _growth(subject, case, sys.getallocatedblocks, is_same=False)
        if calls >= _ENOUGH and blocks >= calls // 2 and not held:
            why = f"{calls} calls with other numbers each time leave {blocks} objects"
            yield self.broken(subject, case, Problem("memory-grows", why))
            return
        for large in _large(case):
            size = sum(each.values.nbytes for each in large.arrays)
            grown, calls = _growth(subject, large, _resident, _LARGE_CALLS)
            if grown > max(calls * size // 4, 1 << 20):
                why = f"{calls} calls with {size:,} bytes of arguments leave {grown:,} bytes"
                yield self.broken(subject, large, Problem("memory-grows", why))
                return


def _large(case: Case) -> Iterator[Case]:
    for size in reversed(case.sizes):
        for number in (4096, 1024):
            grown = list(case.grown({size: number}, 30_000))
            if grown:
                yield grown[0]
                return


def _resident() -> int:
    """Return how many bytes of memory this process has."""
    try:
        return int(_PAGES.read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def _growth(
    subject: Subject, case: Case, measure: object, calls: int = _CALLS, *, is_same: bool = True
) -> tuple[int, int]:
    """Return how much a measure grows over many calls, the least of two rounds, and how many these are. Unless it
    `is_same`, floating-point arguments are others in each call."""
    number = itertools.count(1)

    def run() -> None:
        call = case.call(subject.operator)
        for operand in () if is_same else call.operands:
            if operand.tensor.array.dtype.kind == "f" and operand.tensor.array.size:
                operand.tensor.array.flat[0] = next(number) / 1024
        subject.run_call(call)

    found = []
    begin = time.perf_counter()
    subject.run_call(case.call(subject.operator))
    calls = max(min(calls, int(_SECONDS / (time.perf_counter() - begin + 1e-9))), _FEWEST)
    for _ in range(3):
        gc.collect()
        before = measure()  # type: ignore[operator]
        for _ in range(calls):
            run()
        gc.collect()
        found.append(measure() - before)  # type: ignore[operator]
        if found[-1] <= 0 and len(found) > 1:
            break
    return int(min(found[1:])), calls


def _held(subject: Subject, case: Case) -> str:
    """Return what is still held after a call, "" if nothing is."""
    call = case.call(subject.operator)
    answer = subject.run_call(call)
    if answer.error is not None:
        return ""
    names = [each.name for each in call.operands]
    arrays = [weakref.ref(each.tensor.array) for each in call.operands]
    results = checking.results_of(subject.operator, answer.result)
    names += [each.name for each in results]
    arrays += [weakref.ref(each.tensor.array) for each in results]
    del call, answer, results
    gc.collect()
    return next((name for name, array in zip(names, arrays, strict=True) if array() is not None), "")
