"""Sizes: what holds of small arrays holds of large ones, at limits, and of more dimensions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from opwright_gate.cases import Array, Case, drawn
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import SECONDS, Problem, Property
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Sizes"]

_SMALL: Final = ((5, 6, 7), (6, 10, 12), (8, 16, 64))  # or those that blocks divide
_LARGE: Final = (1, 7, 8, 9, 16, 17, 31, 61, 64, 127, 128, 251, 257, 509, 1023, 1024, 1025, 2050, 4097)
_MOST: Final = 20_000
_HEAD: Final = 2
_BLOCK: Final = 64  # rows that blocks divide

Outputs = list[tuple[str, np.ndarray[Any, Any]]]
Law = Callable[[Subject, Case, int], str | None]


class Sizes(Property):
    """Laws that small sizes obey, at large ones: rows by themselves give the rows of the result; added zeros, or the
    whole once more, change nothing. A law that a small size breaks is none of the operator's."""

    name, title, group = "sizes-do-not-matter", "Works at every size", "sizes"
    finds = "A limit (1,024), a block that does not divide the size, a number of rows that is taken for granted."
    example = "out = np.zeros_like(x)\nout.flat[:1024] = f(x.flat[:1024])\nreturn out"
    mend = "Take every size from the arguments; handle the rest of a block by itself."

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator's meaning is no layout."""
        return "what it means is a layout" if subject.means_a_layout else True

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first law that breaks, and for the first size that is refused."""
        if samples.why_unstable:
            yield self.undecided(subject, samples.why_unstable, "not-comparable")
            return
        first = samples.first
        if first is None or not first.arrays:
            return
        said: set[int] = set()
        until = time.process_time() + SECONDS
        for size in first.sizes:
            for law in (_rows, _blocks, _zeros, _twice):
                small = next((each for each in _sets(law) if _holds(law, subject, first, size, each)), None)
                if small is None:
                    continue
                for number in _LARGE:
                    if time.process_time() > until:
                        return
                    text = "" if said else _answer(law, subject, first, size, number)
                    if text:
                        said.add(number)
                        why = f"{_LAWS[law.__name__]} at sizes of {small}, and not at {number}: {text}"
                        case = next(subject.grown(first, {size: number}, _MOST))
                        yield self.broken(subject, case, Problem("size-limit", why))
        yield from self._refused(subject, first, until)

    def _refused(self, subject: Subject, first: Case, until: float) -> Iterator[Verdict]:
        for size in first.sizes:
            if any(subject.refusal(first.resized({size: number})) is not None for number in _SMALL[0]):
                continue  # (a size that is fixed is a rule of the operator's)
            for number in _LARGE:
                if time.process_time() > until:
                    return
                if number == 1:  # (positions may fit the sizes that were drawn)
                    continue
                for case in subject.grown(first, {size: number}, _MOST):
                    error = subject.refusal(case)
                    if error is None or says_what_is_demanded(error, subject.operator.signature.names):
                        continue
                    if isinstance(error, IndexError) and case.may_have_positions:
                        continue
                    if subject.fake(case).error is None:
                        why = f"it refuses a size of {number}, which its fake kernel takes: {shown_error(error)}"
                        yield self.broken(subject, case, Problem("size-refused", why))
                        return


def _sets(law: Law) -> tuple[tuple[int, ...], ...]:
    """Return the sizes at which a law is to hold: those of one of these."""
    if law is _blocks:
        return ((2 * _BLOCK, 3 * _BLOCK),)
    return _SMALL[1:2] if law is _twice else (_SMALL[0], _SMALL[2])


def _holds(law: Law, subject: Subject, first: Case, size: int, numbers: tuple[int, ...]) -> bool:
    return all(_answer(law, subject, first, size, number) == "" for number in numbers)


class _NoLawError(Exception):
    """A law says nothing of a call: of its size, or because it is refused."""


def _answer(law: Law, subject: Subject, first: Case, size: int, number: int) -> str | None:
    """Return how a law is broken at a size, "" where it holds, None where it says nothing."""
    for case in subject.grown(first, {size: number}, _MOST):
        try:
            return law(subject, case, number) or ""
        except _NoLawError:
            return None
    return None


def _outputs(subject: Subject, case: Case) -> Outputs | None:
    answer = subject.run(case)
    return None if answer.error is not None else answer.outputs


def _taken(case: Case, size: int, index: Any) -> Case:
    """Return the call with some positions alone of each dimension of this size."""

    def convert(value: Array, _: int) -> Array:
        array = value.values
        for dim, each in enumerate(array.shape):
            if each == size:
                array = np.take(array, index, dim)
        return Array(np.array(array, order="C"), value.layout)

    moved = case.converted(convert)
    values = tuple(
        [len(index) if item == size else item for item in value]
        if isinstance(value, list) and value and all(type(item) is int for item in value)
        else value
        for value in moved.values
    )
    return Case(values)


def _rows(subject: Subject, case: Case, size: int) -> str | None:
    """Return how the result of some rows is not those rows of the result."""
    return _parts(subject, case, size, ([size - 1], list(range(max(size - 3, 0), size)), [0]))


def _blocks(subject: Subject, case: Case, size: int) -> str | None:
    """Return how the result of as many rows as blocks divide, the last ones and the first, is not those rows."""
    if size <= _BLOCK:
        raise _NoLawError
    return _parts(subject, case, size, (list(range(size - _BLOCK, size)), list(range(_BLOCK))))


def _parts(subject: Subject, case: Case, size: int, parts: Sequence[list[int]]) -> str | None:
    whole = _outputs(subject, case)
    if whole is None or not _has_one(case, size):
        raise _NoLawError
    dims = [[dim for dim, each in enumerate(array.shape) if each == size] for _, array in whole]
    if any(len(each) != 1 for each in dims):
        raise _NoLawError
    for index in parts:
        part = _outputs(subject, _taken(case, size, index))
        if part is None or len(part) != len(whole):
            raise _NoLawError
        wanted = [(name, np.take(array, index, each[0])) for (name, array), each in zip(whole, dims, strict=True)]
        if [array.shape for _, array in part] != [array.shape for _, array in wanted]:
            raise _NoLawError
        text = difference(part, wanted)
        if text is not None:
            return text
    return None


def _has_one(case: Case, size: int) -> bool:
    return all(each.values.shape.count(size) <= 1 for each in case.arrays)


def _headed(case: Case, size: int, head: Case, *, again: bool) -> Case:
    """Return the call with the two positions of a head in each dimension of this size: again and again, or first and
    last, with zeros between them."""
    heads = iter(head.arrays)

    def convert(value: Array, _: int) -> Array:
        array, first = value.values, next(heads).values
        for dim, each in enumerate(array.shape):
            if each == size:
                index = np.arange(size) % _HEAD if again else np.arange(size) // (size - 1)
                first = np.take(first, index, dim)
                if not again:
                    first[(slice(None),) * dim + (slice(1, -1),)] = 0
        return Array(np.array(first, order="C"))

    return case.converted(convert)


def _zeros(subject: Subject, case: Case, size: int) -> str | None:
    """Return how zeros between two positions change the result, the two being the same at each size."""
    if size <= _HEAD or any(isinstance(each, list) for each in case.values):  # (a list of sizes: it may resample)
        raise _NoLawError
    head = _taken(case, size, list(range(_HEAD)))
    head = head.converted(lambda a, place: drawn(a.values.shape, a.values.dtype, 11 + place))
    made = _headed(case, size, head, again=False)
    if size <= max(_SMALL[2]) and _same(subject, made, _taken(made, size, list(range(size))[::-1])):
        raise _NoLawError  # the order matters: what is resampled is no sum
    return _same(subject, head, made)


def _twice(subject: Subject, case: Case, size: int) -> str | None:
    """Return how the first two positions again and again change the result."""
    if size <= _HEAD or size % _HEAD:
        raise _NoLawError
    head = _taken(case, size, list(range(_HEAD)))
    head = head.converted(lambda a, place: drawn(a.values.shape, a.values.dtype, 11 + place))
    return _same(subject, head, _headed(case, size, head, again=True))


def _same(subject: Subject, one: Case, other: Case) -> str | None:
    if any(each.values.dtype.kind == "b" for each in one.arrays):
        raise _NoLawError
    first, second = _outputs(subject, one), _outputs(subject, other)
    if first is None or second is None or len(first) != len(second):
        raise _NoLawError
    pairs = [(a, b) for a, b in zip(second, first, strict=True) if a[1].dtype.kind in "fcV"]  # positions have ties
    if not pairs or any(a[1].shape != b[1].shape for a, b in pairs):
        raise _NoLawError
    return difference([a for a, _ in pairs], [b for _, b in pairs])


_LAWS: Final = {
    "_rows": "rows by themselves give the rows of the result",
    "_blocks": "64 rows by themselves give these rows of the result",
    "_zeros": "added zeros change nothing",
    "_twice": "the same once more changes nothing",
}
