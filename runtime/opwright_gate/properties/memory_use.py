"""Memory: a call keeps nothing."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from opwright_core.plans.plan_cache import PlanCache
from opwright_core.plans.specs import SpecCache
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.memory import allocated
from opwright_gate.properties.property import Problem, Property
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Memory"]

# So many specs caches of plans hold while growth is measured: after so many calls they are as full as before.
_CYCLE: Final = 64
_CALLS: Final = 3 * _CYCLE
_LARGE_CALLS: Final = 40
_FEWEST: Final = 10
_ENOUGH: Final = 2 * _CYCLE  # calls, for a growth to tell
_SECONDS: Final = 0.05  # for each round
_STATM: Final = Path("/proc/self/statm")


class Memory(Property):
    """References and growth."""

    name, title, group = "keeps-nothing", "Keeps no memory", "memory"
    finds = "An argument or result that is still held when the caller has dropped it, and memory that grows with calls."
    example = "seen = []\n\n\ndef kernel(x):\n    seen.append(x)\n    return x * 2"
    mend = "Keep nothing between calls; free in C what was allocated."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for what is held, or else for growth: of small calls, then of a large one."""
        case = samples.first
        if case is None or not case.arrays:
            return
        if held := _held(subject, case):
            yield self.broken(subject, case, Problem("keeps-reference", f"{held} is still held after the call"))
            return
        grown, calls = _growth(subject, case, _CALLS)
        for what, most in _MOST.items():
            if calls >= _ENOUGH and grown[what] >= most * calls:
                why = f"{calls} calls with other numbers each time leave {grown[what]:,} {what}"
                yield self.broken(subject, case, Problem("memory-grows", why))
                return
        for large in _large(subject, case):
            size = sum(each.values.nbytes for each in large.arrays)
            grown, calls = _growth(subject, large, _LARGE_CALLS)
            if grown[_PAGES] > max(calls * size // 4, 1 << 20):
                why = f"{calls} calls with {size:,} bytes of arguments leave {grown[_PAGES]:,} {_PAGES}"
                yield self.broken(subject, large, Problem("memory-grows", why))
                return


def _large(subject: Subject, case: Case) -> Iterator[Case]:
    for size in reversed(case.sizes):
        for number in (4096, 1024):
            grown = list(subject.grown(case, {size: number}, 30_000))
            if grown:
                yield grown[0]
                return


def _resident() -> int:
    """Return how many bytes of memory this process has, 0 where the system does not say."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def _growth(subject: Subject, case: Case, calls: int) -> tuple[dict[str, int], int]:
    """Return by how much each measure grows over many calls, each with other floating-point numbers, the least of two
    rounds, and how many calls these are."""
    number = itertools.count(1)

    def run() -> None:
        call = case.call(subject.operator)
        for operand in call.operands:
            if operand.tensor.array.dtype.kind == "f" and operand.tensor.array.size:
                operand.tensor.array.flat[0] = next(number) / 1024
        subject.run_call(call)

    begin = time.perf_counter()
    run()
    calls = min(calls, int(_SECONDS / (time.perf_counter() - begin + 1e-9)))
    calls -= calls % _CYCLE if calls > _CYCLE else 0
    if calls < _FEWEST:
        return dict.fromkeys(_MEASURES, 0), 0
    rounds: list[dict[str, int]] = []
    with _small_caches():
        while len(rounds) < 3 and not (len(rounds) > 1 and max(rounds[-1].values()) <= 0):
            gc.collect()
            before = {what: measure() for what, measure in _MEASURES.items()}
            for _ in range(calls):
                run()
            gc.collect()
            rounds.append({what: measure() - before[what] for what, measure in _MEASURES.items()})
    return {what: min(each[what] for each in rounds[1:]) for what in _MEASURES}, calls


@contextlib.contextmanager
def _small_caches() -> Iterator[None]:
    """Have caches of plans emptied when they hold few: their growth up to a bound is none that tells."""
    bounds = {kind: kind.most for kind in (PlanCache, SpecCache)}
    for kind in bounds:
        kind.most = _CYCLE
    try:
        yield
    finally:
        for kind, bound in bounds.items():
            kind.most = bound


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


_PAGES: Final = "bytes of pages"
_MEASURES: Final[dict[str, Callable[[], int]]] = {
    "objects": sys.getallocatedblocks,
    "bytes that malloc gave": allocated,
    _PAGES: _resident,
}
_MOST: Final = {"objects": 0.5, "bytes that malloc gave": 16}  # that a call may leave
