"""State: what a call gives follows from its arguments, and it leaves the process as it was."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opwright_core.tensors.tensor import wrap
from opwright_gate import checking
from opwright_gate.cases import Array, Case, lay
from opwright_gate.comparing import difference
from opwright_gate.memory import poison, use_threads
from opwright_gate.properties.property import CaseProperty, Problem, Property
from opwright_gate.samples import Samples, poisoned
from opwright_gate.states import CAUSES, Snapshot, unusual
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict
from opwright_gate.watching import note

__all__ = ["LARGE", "Deterministic", "LeavesNothing", "OfValues", "Stateless", "other_values", "safe"]

_REPEATS = 12
LARGE = 1 << 22  # bytes of results, which are not compared again and again
_SECONDS = 0.1  # of repeats of one call
_UNUSED = (11, 19, 23, 29, 31)
_LATER = Problem("counts-calls", "it gives something else after some calls")


class OfValues(Property):
    """A question that compares values of calls: not asked of what draws random numbers."""

    def applies(self, subject: Subject) -> bool | str:
        """Whether values are to be the same."""
        if subject.returns_what_memory_held:
            return "it returns memory that nobody has written, by its name"
        return "it draws random numbers" if subject.draws_random_numbers else True


class Deterministic(OfValues, CaseProperty):
    """Results of one call, made many times, bit by bit."""

    name, title, group = "deterministic", "Gives the same bits each time", "determinism"
    finds = "A call that gives other bits when it is made again: a race, a random number, a sum in another order."
    example = "def kernel(x):\n    return x + np.random.rand()  # without the tag nondeterministic_seeded"
    mend = "Sum in a fixed order; draw from Opwright's generators and say so by the tag."

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of two sizes, and one whose values cancel; with several threads of OpenMP, larger ones."""
        yield from samples.some
        first = samples.first
        if first is not None:
            yield from subject.grown(first, dict.fromkeys(first.sizes, 37))
            yield first.converted(_cancelling)
            use_threads(4)
            for size in first.sizes:
                for grown in subject.grown(first, {size: 2048}):
                    yield grown
                    yield grown.converted(_cancelling)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first call that gives other bits. Then OpenMP has one thread again: a process that is
        forked of one with several waits for those that it has not."""
        try:
            yield from super().check(subject, samples)
        finally:
            use_threads(1)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return what is another among twelve calls."""
        wanted = subject.run(case)
        sizes = [array.nbytes for _, array in wanted.outputs]
        repeats = 0 if wanted.error is not None or sum(sizes) > LARGE else _REPEATS
        until = time.process_time() + _SECONDS
        for number in range(repeats):
            if number > 1 and time.process_time() > until:
                break
            note(case)
            call = case.call(subject.operator)
            poison(0x5B, sizes)
            found = subject.run_call(call)
            wanted = found if not number else wanted
            if found.error is not None:
                return Problem("not-deterministic", f"it raises when it is called again: {found.error}")
            text = difference(found.outputs, wanted.outputs, exact=True)
            if text is not None:
                return Problem("not-deterministic", f"the same call gives something else: {text}")
        return None


def _cancelling(value: Array, _: int) -> Array:
    if value.values.dtype.kind not in "fc" or not value.values.size:
        return value
    sign = np.resize(np.array([1e4, 1.0, -1e4, 1e-3]), value.values.shape)
    with np.errstate(all="ignore"):
        return Array(sign.astype(value.values.dtype))


class Stateless(OfValues):
    """Calls between others, on the same memory with other values, and on other memory."""

    name, title, group = "without-memory", "Remembers nothing of other calls", "state"
    finds = "A cache by shape, address or number of calls: the answer is that of another call."
    example = "cache = {}\n\n\ndef kernel(x):\n    return cache.setdefault(x.shape, x * 2)"
    mend = "Keep nothing between calls, or all that the answer follows from."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first way in which a former call is remembered."""
        if samples.why_unstable:
            if self._is_another_now(subject, samples):
                yield self.broken(
                    subject, samples.first, Problem("counts-calls", "it gives something else after some calls")
                )
            else:
                yield self.undecided(subject, samples.why_unstable, "not-comparable")
            return
        for base in samples.some[:1]:
            unused = dict(zip(base.sizes, _UNUSED, strict=False))  # sizes that no other has
            case = next(subject.grown(base, unused), base)
            case = base if subject.refusal_of_fake(case) is not None else case
            other = case.converted(other_values)
            wanted_other = _first_answer(subject, other)
            answer = subject.run(case)
            if answer.error is not None:
                continue
            wanted = answer.outputs
            for problem in self._ways(subject, samples, case, other, wanted, wanted_other):
                yield self.broken(subject, case, problem)
                return
        if self._is_another_now(subject, samples):
            yield self.broken(
                subject, samples.first, Problem("counts-calls", "it gives something else after some calls")
            )

    def _is_another_now(self, subject: Subject, samples: Samples) -> bool:
        """Whether the first calls give something else now, and that twice."""
        for case, answer in samples.answers if not subject.operator.signature.written else ():
            sizes = [array.nbytes for _, array in answer.outputs]
            once, twice, other = (poisoned(subject, case, byte, sizes) for byte in (0x5B, 0x5B, 0xA4))
            is_same = difference(once, twice, exact=True) is None and difference(once, other, exact=True) is None
            if is_same and difference(once, answer.outputs) is not None:
                return True
        return False

    def _ways(
        self, subject: Subject, samples: Samples, case: Case, other: Case, wanted: Any, wanted_other: Any
    ) -> Iterator[Problem]:
        call, arrays = _held(subject, case)
        first = subject.run_call(call)
        if first.error is not None:
            return
        if wanted_other is not None:
            found = subject.run_call(_rewritten(subject, other, arrays, case))
            text = None if found.error is not None else difference(found.outputs, wanted_other)
            if text is not None:
                by = "shape" if _by_shape(subject, case, other, wanted_other) else "address"
                answer = safe(subject, case)
                is_kept = answer is not None and difference(answer, wanted) is None  # (then nothing counts calls)
                cause = f"cache-by-{by}" if is_kept else "counts-calls"
                yield Problem(cause, f"with other values in the same memory {text}", _again())
            fresh = safe(subject, other)
            text = None if fresh is None else difference(fresh, wanted_other)
            if text is not None:
                yield Problem("cache-by-shape", f"after a call of the same shapes {text}", _again())
        for later in [*samples.more, *samples.some, case, other]:
            subject.run(later)
        for number in range(30):
            outputs = safe(subject, case)
            if outputs is None:
                yield Problem("counts-calls", f"it raises at call {number + 2} of the same arguments")
                return
            text = difference(outputs, wanted, exact=False)
            if text is not None:
                yield Problem("counts-calls", f"after other calls {text}", _again())
                return


def _again() -> tuple[str, ...]:
    return ("# called again with other values, it answers for these",)


def _by_shape(subject: Subject, case: Case, other: Case, wanted: Any) -> bool:
    held, _ = _held(subject, case)  # (its memory is not used again)
    subject.run_call(held)
    found = safe(subject, other)
    return found is not None and difference(found, wanted) is not None and bool(held.arguments)


def safe(subject: Subject, case: Case) -> Any:
    answer = subject.run(case)
    return None if answer.error is not None else answer.outputs


def _first_answer(subject: Subject, case: Case) -> Any:
    """Return what a call gives that no call was made before, as near as one can come to that: in another process, which
    has made none of these shapes."""
    from opwright_gate.fresh import fresh_outputs

    return fresh_outputs(subject, case)


def _held(subject: Subject, case: Case) -> tuple[checking.Call, list[np.ndarray[Any, Any]]]:
    """Return the call and its arrays."""
    call = case.call(subject.operator)
    return call, [each.tensor.array for each in call.operands]


def _rewritten(subject: Subject, case: Case, arrays: list[np.ndarray[Any, Any]], _: Case) -> checking.Call:
    """Return the call on memory that another call had, with its own values in it."""
    left = iter(arrays)

    def convert(value: Any) -> Any:
        if isinstance(value, Array):
            array = next(left)
            array[...] = lay(value)
            return wrap(array)
        return [convert(item) for item in value] if isinstance(value, list | tuple) else value

    return checking.Call(subject.operator, [convert(value) for value in case.values])


def other_values(value: Array, _: int) -> Array:
    array = value.values
    turned = array[..., ::-1] if array.ndim else array
    if array.dtype.kind in "fc":
        turned = turned * 0.5 + 0.25
    return replace(value, values=np.array(turned, order="C").astype(array.dtype))


class LeavesNothing(Property):
    """The process before and after a call."""

    name, title, group = "leaves-no-trace", "Leaves the process as it was", "state"
    finds = (
        "A seed, an error state, an option, a variable, a handler, a file, a thread or a function that a call leaves "
        "changed."
    )
    example = 'def kernel(x):\n    np.seterr(all="ignore")\n    return np.log(x)'
    mend = "Put it back (`with np.errstate(...)`), or do without."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each thing that is another."""
        with_generators = not subject.draws_random_numbers
        seen = set()
        at_first = samples.at_first.changed() if samples.at_first is not None else None
        special = list(samples.special(samples.first)) if samples.first else []
        if at_first is not None:
            seen.add(at_first)
            yield self._left(subject, samples.first, at_first)
        for number, case in enumerate([*samples.some, *samples.more, *special]):
            _bare(subject, case)  # (what is loaded by the first call is no trace)
            with unusual(number):
                before = Snapshot(with_generators=with_generators, with_seeds=with_generators, with_judges=number < 2)
                _bare(subject, case)
                found = before.changed()
            if found is not None and found not in seen:
                seen.add(found)
                yield self._left(subject, case, found)

    def _left(self, subject: Subject, case: Case | None, found: str) -> Verdict:
        cause = CAUSES.get(found, "judge-patched" if "." in found else "global-state")
        return self.broken(subject, case, Problem(cause, f"a call changes {found}"))


def _bare(subject: Subject, case: Case) -> None:
    """Make a call without a block around it that would put settings back."""
    call = case.call(subject.operator)
    with contextlib.suppress(Exception):
        call()
