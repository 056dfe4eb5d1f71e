"""Sizes: what holds of small arrays holds of large ones, at limits, and of more dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from opwright.gate.cases import Array, Case
from opwright.gate.properties.comparing import difference, shown_error
from opwright.gate.properties.property import Problem, Property
from opwright.gate.refusing import says_what_is_demanded
from opwright.gate.samples import Samples
from opwright.gate.subjects import Subject
from opwright.gate.verdicts import Verdict

__all__ = ["Sizes"]

_SMALL: Final = (2, 3, 5, 6)
_LARGE: Final = (1, 7, 8, 9, 16, 17, 31, 61, 64, 127, 128, 251, 256, 257, 509, 1023, 1024, 1025, 2049, 4097)
_MOST: Final = 20_000

Outputs = list[tuple[str, np.ndarray[Any, Any]]]
Law = Callable[[Subject, Case, int], str | None]


class Sizes(Property):
    """Laws that small sizes obey, at large ones: rows by themselves give the rows of the result; added zeros, or the
    whole once more, change nothing. A law that a small size breaks is none of the operator's."""

    name, title, group = "sizes-do-not-matter", "Works at every size", "sizes"
    finds = (
        "A limit (1,024), a block that does not divide the size, a number of rows that the kernel takes for granted."
    )
    example = "out = np.zeros_like(x); out.flat[:1024] = f(x.flat[:1024]); return out"
    mend = "Take every size from the arguments; handle the rest of a block by itself."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first law that breaks, and for the first size that is refused."""
        if samples.why_unstable:
            yield self.undecided(subject, samples.why_unstable, "not-comparable")
            return
        first = samples.first
        if first is None or not first.arrays:
            return
        said = set()
        for size in first.sizes:
            for law in (_rows, _zeros, _twice):
                small = [_answer(law, subject, first, size, number) for number in _SMALL]
                if any(each is not None for each in small):
                    continue
                for number in _LARGE:
                    for case in first.grown({size: number}, _MOST):
                        text = law(subject, case, number)
                        if text and "size-limit" not in said:
                            said.add("size-limit")
                            why = f"{_LAWS[law.__name__]} at sizes of {_SMALL}, and not at {number}: {text}"
                            yield self.broken(subject, case, Problem("size-limit", why))
        yield from self._refused(subject, first)

    def _refused(self, subject: Subject, first: Case) -> Iterator[Verdict]:
        for size in first.sizes:
            for number in _LARGE:
                for case in first.grown({size: number}, _MOST):
                    error = subject.refusal(case)
                    if error is None or says_what_is_demanded(error, subject.operator.signature.names):
                        continue
                    if subject.fake(case).error is None:
                        why = f"it refuses a size of {number}, which its fake kernel takes: {shown_error(error)}"
                        yield self.broken(subject, case, Problem("size-refused", why))
                        return


def _answer(law: Law, subject: Subject, first: Case, size: int, number: int) -> str | None:
    for case in first.grown({size: number}, _MOST):
        return law(subject, case, number)
    return "too large"


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
    whole = _outputs(subject, case)
    if whole is None or not _has_one(case, size):
        return "it is refused"
    dims = [[dim for dim, each in enumerate(array.shape) if each == size] for _, array in whole]
    if any(len(each) != 1 for each in dims):
        return "no dimension of the result"
    for index in ([size - 1], list(range(max(size - 3, 0), size)), [0]):
        part = _outputs(subject, _taken(case, size, index))
        if part is None:
            return "it is refused"
        wanted = [(name, np.take(array, index, each[0])) for (name, array), each in zip(whole, dims, strict=True)]
        text = difference(part, wanted)
        if text is not None:
            return text
    return None


def _has_one(case: Case, size: int) -> bool:
    return all(each.values.shape.count(size) <= 1 for each in case.arrays)


def _added(case: Case, size: int, more: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Case:
    def convert(value: Array, _: int) -> Array:
        array = value.values
        for dim, each in enumerate(array.shape):
            if each == size:
                array = np.concatenate([array, more(array)], dim)
        return Array(array)

    return case.converted(convert)


def _zeros(subject: Subject, case: Case, size: int) -> str | None:
    return _same(subject, case, _taken(case, size, [0, 1][:size]), _zeroed(case, size))


def _zeroed(case: Case, size: int) -> Case:
    """Return the call with zeros behind the first two positions of each dimension of this size."""

    def convert(value: Array, _: int) -> Array:
        array = value.values.copy()
        for dim, each in enumerate(array.shape):
            if each == size:
                array[(slice(None),) * dim + (slice(2, None),)] = 0
        return Array(array)

    return case.converted(convert)


def _twice(subject: Subject, case: Case, size: int) -> str | None:
    half = size // 2
    if not half or size > 2049:
        return "" if size > 2049 else "too small"
    cut = _taken(case, size, list(range(half)))
    return _same(subject, case, cut, _added(cut, half, lambda array: array))


def _same(subject: Subject, case: Case, one: Case, other: Case) -> str | None:
    if any(each.values.dtype.kind == "b" for each in case.arrays):
        return "no numbers"
    first, second = _outputs(subject, one), _outputs(subject, other)
    if first is None or second is None:
        return "it is refused"
    return difference(second, first)


_LAWS: Final = {
    "_rows": "rows by themselves give the rows of the result",
    "_zeros": "added zeros change nothing",
    "_twice": "the same once more changes nothing",
}
