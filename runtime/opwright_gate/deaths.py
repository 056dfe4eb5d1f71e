"""Deaths: what is said of a process that ended while it was asked something."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from opwright_gate.allocating import Overrun
from opwright_gate.cases import Case
from opwright_gate.clocks import Clock
from opwright_gate.memory import CAN_GUARD
from opwright_gate.programs import program
from opwright_gate.properties import PROPERTIES, GuardedArguments, Property
from opwright_gate.shrinking import shrink
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["death", "in_fork"]

_LIMIT: Final = 1.0  # seconds, for a call that is made again
_LONGER: Final = 5.0  # for one that may hang: it may compile its kernel once more
_TOTAL: Final = 0.5  # seconds, for all
_TIMES: Final = 3  # that a call which hangs is made again: it may wait for what an earlier one holds


def death(subject: Subject, each: Property, case: Case | None, status: int, *, hangs: bool) -> Verdict:
    """Return the verdict on a process that ended with this status of `waitpid`, at this call if it is known.

    It is one on another property where guarded pages tell what the call does to the heap.
    """
    if hangs:
        if case is not None and not _ends(subject, case, _TIMES, _LONGER):
            why = "asking took longer than the time limit, and the last call by itself returns"
            return each.undecided(subject, why, "timed-out")
        cause, why = "hangs", "the call does not return within the time limit"
    else:
        cause, why = "exits", f"the call ends the process, with exit status {os.WEXITSTATUS(status)}"
    if case is not None and not hangs:
        flush, status = _guarded(subject, case, status)
        each = each if flush is case else next(each for each in PROPERTIES if isinstance(each, GuardedArguments))
        case = flush
        case = shrink(case, lambda smaller: _ends(subject, smaller) == status, seconds=_TOTAL, tries=12)
    if not hangs and os.WIFSIGNALED(status):
        cause = _signal_cause(case)
        explained = f": {_EXPLAINED[cause]}" if cause in _EXPLAINED else ""
        why = f"the call ends the process by {signal.Signals(os.WTERMSIG(status)).name}{explained}"
    shown = "" if case is None else program(subject, case, before=(f"# {why}",))
    told = "" if case is None else str(case)
    return Verdict(subject.name, each.name, "broken", subject.backend, cause, why, told, shown)


_EXPLAINED: Final = {
    "access-past-end": "it reads or writes behind the end of an argument",
    "access-before-start": "it reads or writes before the start of an argument",
    "result-past-end": "it reads or writes behind the end of its result, or of another array that it makes",
    "result-before-start": "it reads or writes before the start of its result, or of another array that it makes",
    "undeclared-write": "it writes to an argument that can only be read",
    "unchecked-index": "it takes a position that is outside of an argument, or of its result",
}


def _guarded(subject: Subject, case: Case, status: int) -> tuple[Case, int]:
    """Return a call that ended by what `malloc` found in the heap, flush with guarded pages if it touches one of these,
    and with what status it ends then."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT and CAN_GUARD:
        for layout in ("flush to the end", "flush to the start"):
            flush = replace(case.flush(layout), note=case.note)
            ended = _ends(subject, flush)
            if ended > 0 and os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGSEGV:
                return flush, ended
    return case, status


def _signal_cause(case: Case | None) -> str:
    """Return what a signal means for arguments that lie so."""
    layouts = {each.layout for each in case.arrays} if case is not None else set()
    if case is not None and case.note == "positions outside":
        return "unchecked-index"
    if "flush to the end" in layouts:
        return "access-past-end"
    if "flush to the start" in layouts:
        return "access-before-start"
    if "protected" in layouts:
        return "undeclared-write"
    if "misaligned" in layouts:
        return "alignment-assumed"
    made = case.guarded if case is not None else ""
    return {"flush to the end": "result-past-end", "flush to the start": "result-before-start"}.get(made, "crash")


def _ends(subject: Subject, case: Case, times: int = 1, limit: float = _LIMIT) -> int:
    """Return with what status a process ends that makes the call, 0 where it comes back, -1 where it hangs."""
    return in_fork(lambda: _repeat(subject, case, times), limit)


def _repeat(subject: Subject, case: Case, times: int) -> None:
    """Make a call so often. One that writes behind its result, before the guarded page, ends as if it were in there."""
    for _ in range(times):
        if isinstance(subject.run(case).error, Overrun):
            os.kill(os.getpid(), signal.SIGSEGV)


def in_fork(run: Callable[[], object], limit: float = _LIMIT) -> int:
    """Return the status with which a forked process ends that runs a function; -1 after the time limit."""
    pid = os.fork()
    if not pid:
        status = 86
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nowhere, number)
            faulthandler.disable()
            run()
            status = 0
        finally:
            os._exit(status)
    clock = Clock(pid)
    while clock.seconds() < limit:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1
