"""Threads: calls that meet."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Iterator

import numpy as np

from opwright.autograd import no_grad
from opwright_gate.cases import Case
from opwright_gate.comparing import difference
from opwright_gate.properties.property import Problem
from opwright_gate.properties.state import LARGE, OfValues, other_values, safe
from opwright_gate.samples import Samples
from opwright_gate.subjects import Answer, Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Threads"]

_THREADS, _TIMES, _ROUNDS = 4, 25, 8
_SECONDS = 0.03  # of rounds
_SLOW = 0.02  # seconds: so slow calls are not made a hundred times at once


class Threads(OfValues):
    """Calls in several threads at once."""

    name, title, group = "safe-in-threads", "Gives the same in threads", "determinism"
    finds = "A buffer or a global that calls in several threads share."
    example = (
        "buffer = np.empty(9)\n"
        "\n"
        "\n"
        "def kernel(x):\n"
        "    buffer[: x.size] = x\n"
        "    time.sleep(0)\n"
        "    return buffer[: x.size] * 2"
    )
    mend = "Allocate what a call needs in the call."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict where a thread got something else."""
        if samples.first is None or samples.why_unstable:
            return
        for case in (samples.first, *_long(subject, samples.first)):
            until = time.process_time() + _SECONDS
            for _ in range(_ROUNDS):
                found = list(self._at_once(subject, case))
                yield from found
                if found or time.process_time() > until:
                    break

    def _at_once(self, subject: Subject, case: Case) -> Iterator[Verdict]:
        cases = [case, case.converted(other_values)]
        begin = time.perf_counter()
        wanted = [safe(subject, each) for each in cases]
        if any(each is None for each in wanted) or time.perf_counter() - begin > _SLOW:
            return
        if sum(array.nbytes for outputs in wanted for _, array in outputs) > LARGE:
            return
        calls = [[cases[number % 2].call(subject.operator) for _ in range(_TIMES)] for number in range(_THREADS)]
        answers: list[list[Answer]] = [[] for _ in calls]
        barrier = threading.Barrier(_THREADS)

        def work(number: int) -> None:
            with no_grad(), np.errstate(all="ignore"):
                with contextlib.suppress(threading.BrokenBarrierError):
                    barrier.wait()
                for call in calls[number]:  # (nothing else, so that calls meet)
                    try:
                        answers[number].append(Answer(call, call(), None))
                    except Exception as error:
                        answers[number].append(Answer(call, None, error))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            workers = [threading.Thread(target=work, args=(number,)) for number in range(_THREADS)]
            begun = []
            with contextlib.suppress(RuntimeError):  # "can't start new thread": those that wait for it end
                for each in workers:
                    each.start()
                    begun.append(each)
            if len(begun) < _THREADS:
                barrier.abort()
            for each in begun:
                each.join()
        pairs = [(answer, wanted[number % 2]) for number in range(_THREADS) for answer in answers[number]]
        texts = ("it raises" if one.error is not None else difference(one.outputs, other) for one, other in pairs)
        text = next((each for each in texts if each is not None), None)
        if text is not None:
            yield self.broken(subject, case, Problem("not-thread-safe", f"in four threads {text}"))


def _long(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield a call that lasts longer, if there is one: threads meet in it."""
    for size in reversed(case.sizes):
        for grown in subject.grown(case, {size: 4096}):
            yield grown
            return
