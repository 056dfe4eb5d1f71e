"""Bounds: a call touches its arguments alone, and writes every element of its results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from opwright_gate import checking
from opwright_gate.allocating import Overrun
from opwright_gate.cases import ROW_MAJOR, Array, Case
from opwright_gate.comparing import equal, first_difference, shown_error
from opwright_gate.memory import CAN_GUARD
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.references import refusal_of_reference
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples, is_called_as_positions, poisoned
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["GuardedArguments", "Positions", "WholeResults"]

_SIZES = (1, 7, 13, 67, 16, 0)
_MOST_BYTES = 1 << 24  # of results that are compared


class GuardedArguments(CaseProperty):
    """Arguments and results between pages that nobody may touch. A call that does ends its process, and the gate says
    where it was."""

    name, title, group = "stays-in-bounds", "Reads and writes within its arguments and results", "bounds"
    finds = "A read or write before or behind an argument or result, in any language, and a write to read-only memory."
    example = "for (i = 0; i < n; i += 4) { /* x[i + 3] */ }  // n is no multiple of 4"
    mend = "Bound the loop by the sizes; handle the rest of a block by itself."

    def applies(self, subject: Subject) -> bool | str:
        """Whether pages can be guarded here."""
        return CAN_GUARD or "pages are guarded on Linux alone"

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls whose arguments and results end at a guarded page, then begin behind one, then can only be read;
        sizes that no block divides, and one that fills whole words; a second argument that is too short."""
        for case in samples.some:
            yield from _guarded(case, samples)
        first = samples.first
        if first is None:
            return
        for number in _SIZES:
            for size in first.sizes:
                for grown in subject.grown(first, {size: number}):
                    yield from _guarded(grown, samples)
        for number in range(1, len(first.arrays)):
            for short in _shortened(first, number):
                yield short.flush("flush to the end")

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return that a result was written behind its end, or that a call which cannot write raises where a call that
        can does not."""
        answer = subject.run(case)
        if isinstance(answer.error, Overrun):
            return Problem("result-past-end", f"{answer.error}: its result, or another array")
        if answer.error is None or not any(each.layout == "protected" for each in case.arrays):
            return None
        if subject.run(case.compact()).error is not None:
            return None
        if "read-only" in str(answer.error) or "not writ" in str(answer.error):
            return Problem("undeclared-write", f"it writes to what can only be read: {shown_error(answer.error)}")
        if says_what_is_demanded(answer.error, subject.operator.signature.names):
            return None
        return Problem("read-only-refused", f"it refuses what can only be read: {shown_error(answer.error)}")


def _guarded(case: Case, samples: Samples) -> Iterator[Case]:
    yield case.flush("flush to the end")
    yield case.flush("flush to the start")
    yield case.laid("protected", samples.written).guarding()


def _shortened(case: Case, number: int) -> Iterator[Case]:
    """Yield the call with one array an element shorter in each dimension: to be refused, or broadcast."""
    array = case.arrays[number].values
    for dim, size in enumerate(array.shape):
        if size > 1:
            count = iter(range(len(case.arrays)))
            index = tuple(slice(size - 1) if each == dim else slice(None) for each in range(array.ndim))
            yield case.converted(
                lambda a, _, count=count, index=index: (  # type: ignore[misc]
                    Array(np.array(a.values[index], order="C")) if next(count) == number else a
                ),
                "one is shorter",
            )


class Positions(CaseProperty):
    """Positions outside of what they index."""

    name, title, group = "positions-are-checked", "Positions outside are refused", "bounds"
    finds = "A position before the start or behind the end that the call takes: it reads or writes foreign memory."
    example = "out[i] = x[index[i]];  // index is whatever the caller says"
    mend = "Compare each position with the size, and return an error."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is an argument that may say positions."""
        return CAN_GUARD and (
            len(subject.operator.signature.tensors) > 1 or bool(_positions(subject) or _integers(subject))
        )

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first position that is taken: those further away may take for ever."""
        yield from itertools.islice(super().check(subject, samples), 1)

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls with positions far outside: what they meet is a guarded page."""
        first = samples.first
        for value in (1 << 20, -(1 << 20), 1 << 40, -(1 << 40)) if first is not None else ():
            moved = first.converted(lambda a, place, value=value: self._moved(samples, a, place, value))  # type: ignore
            if any(each.layout == ROW_MAJOR for each in moved.arrays):
                yield Case(moved.values, "positions outside", "flush to the end" if value > 0 else "flush to the start")
        for position in _integers(subject) if first is not None else ():
            for number in (-1, -5, -1000, 1000):
                for layout in ("flush to the end", "flush to the start"):
                    moved = first.flush(layout).with_value(position, number, "positions outside")  # type: ignore[union-attr]
                    yield moved

    def _moved(self, samples: Samples, value: Array, place: int, number: int) -> Array:
        if samples.is_position(place) and value.values.dtype.kind in "iu" and value.values.size:
            changed = value.values.copy()
            if abs(number) < np.iinfo(changed.dtype).max and (number > 0 or changed.dtype.kind == "i"):
                changed.flat[-1] = number
            return Array(changed)
        return Array(value.values, "flush to the end" if number > 0 else "flush to the start")

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return that the reference refuses what the call takes. (A call that reads there ends its process.)"""
        answer = subject.run(case)
        known = subject.reference
        has_checks = known is not None and known.looks is None  # (PyTorch's kernels may read there)
        refused = refusal_of_reference(subject, case) if has_checks else None
        if answer.error is None and isinstance(refused, IndexError):
            return Problem("unchecked-index", f"it takes a position that the reference refuses: {shown_error(refused)}")
        return None


def _positions(subject: Subject) -> list[int]:
    """Return which Tensors are called as positions are."""
    places = [each.position for each in subject.operator.signature.tensors]
    return [place for place in places if is_called_as_positions(subject, place)]


def _integers(subject: Subject) -> list[int]:
    """Return which arguments are numbers that may stand for a position."""
    types = enumerate(subject.operator.signature.types)
    return [place for place, text in types if text.rstrip("?") in ("int", "SymInt")]


class WholeResults(CaseProperty):
    """Results in poisoned memory."""

    name, title, group = "results-are-whole", "Writes every element of its results", "bounds"
    finds = "An element of a result that nobody wrote: it is what the memory held before."
    example = "out = np.empty_like(x)\nout[:-1] = x[1:]\nreturn out  # the last element is anything"
    mend = "Write each element, or begin with `np.zeros`."

    def applies(self, subject: Subject) -> bool | str:
        """Whether values are to be the same."""
        if subject.draws_random_numbers:
            return "it draws random numbers"
        return "it returns memory that nobody has written, by its name" if subject.returns_what_memory_held else True

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of each kind of dtype, and larger ones."""
        yield from samples.some
        yield from samples.more
        first = samples.first
        if first is not None:
            for number in (1, 5, 67, 300):
                for size in first.sizes:
                    yield from subject.grown(first, {size: number})
            yield first.laid("transposed")
            yield from samples.special(first)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return the element that two poisons made two values of."""
        plain = subject.run(case)
        if plain.error is not None:
            return None
        sizes = [each.tensor.array.nbytes for each in checking.results_of(subject.operator, plain.result)]
        if sum(sizes) > _MOST_BYTES:
            return None  # (a product of all its arguments)
        found = []
        for byte in (0x5B, 0x5B, 0xA4):
            found.append(poisoned(subject, case, byte, sizes))
        if any(not equal(one, two) for (_, one), (_, two) in zip(found[0], found[1], strict=False)):
            return None  # (not the same twice: that is said elsewhere)
        for (name, one), (_, other) in zip(found[0], found[2], strict=False):
            if one.shape == other.shape and not equal(one, other):
                index = first_difference(one, other)
                check = ("print(result)  # other numbers each time",)
                return Problem("unwritten-element", f"nobody writes {name}{index}: it is what memory held", check)
        return None
