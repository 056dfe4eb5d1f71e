"""Values: what is computed is what is meant, where something says what that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from opwright.testing import closeness
from opwright_core.arrays.dtypes import bfloat16, float16, float64
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import shown_error
from opwright_gate.properties.fakes import broadcast
from opwright_gate.properties.looks import is_cancelled, refusals_that_differ, shows, takes_empty, unlike
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.references import given_by_reference
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import variations
from opwright_gate.verdicts import Verdict

__all__ = ["Values", "expected"]

_CAUSES: Final = {
    "NaN": "nan-lost", "mixed": "infinity-or-zero", "large": "overflow", "tiny": "unstable-formula",
    "offset": "unstable-formula", "extremes": "integer-overflow", "one is 1": "broadcast-wrong", "long": "size-limit",
    "half": "half-accumulation",
}  # fmt: skip
_FACTOR: Final = 10.0
_MOST: Final = 1 << 20  # elements of a result


class Values(CaseProperty):
    """Results beside those of a reference."""

    name, title, group = "values-are-right", "Computes what the reference says", "values"
    finds = "A result that is not the reference's: for special values, dtypes, sizes and broadcasts, within tolerances."
    example = "def kernel(x):\n    return np.fmax.reduce(x)  # reference: np.max, which keeps NaN"
    mend = "See the program: it shows the smallest call that differs."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each cause, "undecided" where nothing says what values mean."""
        if subject.reference is None:
            why = "unproved: nothing says what its values mean (`opwright_gate.reference`, `reference:`, `--against`)"
            yield self.undecided(subject, why, "unproved")
            return
        if subject.draws_random_numbers or samples.why_unstable.startswith(("it", "its")):
            yield from self._looks_alone(subject, samples)
            return
        known = [*samples.bases.values(), *samples.more]
        if known and all(expected(subject, case) is None for case in known):
            yield self.undecided(subject, f"unproved: {subject.reference.said} refuses all drawn calls", "unproved")
            return
        for case in known:
            problem = self.problem(subject, case)
            if problem is not None and problem.cause in ("wrong-values", "wrong-shape"):
                yield self.smallest(subject, case, problem)
                return  # (whatever else is wrong follows from that)
        yield from super().check(subject, samples)
        for case, problem in refusals_that_differ(subject, samples):
            yield self.broken(subject, case, problem)

    def _looks_alone(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield what results look like, and should not, where nobody can compare values."""
        known = subject.reference
        for case in [*samples.bases.values(), *samples.more]:
            answer = subject.run(case)
            if known is not None and answer.error is None and (problem := unlike(known, case, answer)) is not None:
                yield self.broken(subject, case, problem)
                return
        yield self.undecided(subject, samples.why_unstable, "not-comparable")

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield calls of each dtype, with special values, of other sizes, with sizes of 1 in one array."""
        yield from samples.bases.values()
        yield from samples.more
        if subject.reference is not None and subject.reference.looks is not None and samples.first is not None:
            yield from variations(subject.operator, samples.first)
        for case in [*samples.some, *[each for dtype, each in samples.floats.items() if dtype is not float64][:2]]:
            yield from samples.special(case)
            yield from _more_special(subject, samples, case)
        for case in samples.bases.values():
            if all(each.values.dtype.kind in "iu" and each.values.itemsize < 8 for each in case.arrays):
                yield case.converted(samples.extreme, "extremes")
        first = samples.first
        if first is None:
            return
        for case in broadcast(first, samples):
            yield Case(case.values, "one is 1")
        for number in (1, 7, 8, 9, 127, 1025, 4097):
            for size in first.sizes:
                for case in subject.grown(first, {size: number}):
                    yield Case(case.values, "long" if number > 64 else "")
        for low in (float16, bfloat16):
            if low in samples.floats:
                for size in samples.floats[low].sizes:
                    for case in subject.grown(samples.floats[low], {size: 4097}):
                        yield case.converted(lambda a, _: Array(np.abs(a.values)), "half")
        for size in first.sizes:
            yield Case(first.resized({size: 0}).values, "empty")
        yield Case(first.resized(dict.fromkeys(first.sizes, 0)).values, "empty")
        if subject.reference is not None and subject.reference.looks is not None:
            yield from (first.laid(layout, subject.operator.signature.written) for layout in ("transposed", "sliced"))

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return how the result differs from the reference's."""
        wanted, known = expected(subject, case), subject.reference
        if case.note == "empty" and known is not None and (refused := takes_empty(subject, known, case)) is not None:
            return refused
        if wanted is None or known is None or any(each.size > _MOST for each in wanted):
            return None
        if known.looks is not None and case.note == "extremes" and any(each.dtype.kind == "f" for each in wanted):
            return None  # (integers in float32: no more exact there)
        answer = subject.run(case)
        if answer.error is not None:
            if says_what_is_demanded(answer.error, subject.operator.signature.names):
                return None
            return Problem("refuses", f"it refuses what {known.said} takes: {shown_error(answer.error)}")
        count = _operations(case, answer.outputs)
        for (name, found), want in zip(_results(subject, answer.outputs), wanted, strict=False):
            text = _wrong(found, want, case, count)
            if text is not None and not (known.looks is not None and is_cancelled(found, want, case)):
                cause, why = text
                return Problem(
                    cause or _CAUSES.get(case.note, "wrong-values"), f"{name} {why.format(known.said)}", shows(known)
                )
        return unlike(known, case, answer)


def _results(subject: Subject, outputs: Any) -> Any:
    """Return the outputs that a reference returns: each array once."""
    written_too = len(subject.operator.signature.returns)
    aliases = [each for each in subject.operator.signature.aliases if each in subject.operator.signature.written]
    return outputs[:written_too] if aliases else outputs


def expected(subject: Subject, case: Case) -> list[np.ndarray[Any, Any]] | None:
    """Return what the reference gives for a call, in wide dtypes; None where it raises."""
    found = given_by_reference(subject, case)
    if isinstance(found, Exception):
        return None
    return [np.asarray(each) for each in (found if isinstance(found, tuple | list) else [found])]


def _operations(case: Case, outputs: Any) -> int:
    """Return how many numbers go into one of the result, at most."""
    largest = max((each.values.size for each in case.arrays), default=1)
    smallest = min((array.size for _, array in outputs if array.size), default=1)
    return max(largest // max(smallest, 1), 1)


def _wrong(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any], case: Case, count: int) -> tuple[str, str] | None:
    """Return a cause, "" where the values say it, and how a result differs: `{}` is the reference."""
    if found.shape != want.shape:
        return "wrong-shape", f"has shape {found.shape}, and {{}} gives {want.shape}"
    with np.errstate(all="ignore"):
        if found.dtype.kind in "biu":
            right = _integers_right(found, want)
        else:
            right = _floats_right(found, want, case, count)
            zeros = (found == 0) & (want == 0) & right
            if case.note in ("mixed", "zeros") and found.dtype.kind == "f" and _keeps_signs(case, want):
                signs = zeros & (np.signbit(want)) & ~np.signbit(found)
                if signs.any() and case.note == "mixed":
                    return "negative-zero", f"is 0.0 at {first_index(signs)}, and {{}} gives -0.0"
    if right.all():
        return None
    index = tuple(first_index(~right))
    cause = _cause_of_value(found[index], want[index], found.dtype)
    return cause, f"is {found[index]} at {list(index)}, and {{}} gives {want[index]}"


def _keeps_signs(case: Case, want: np.ndarray[Any, Any]) -> bool:
    return any(each.values.shape == want.shape for each in case.arrays)


def first_index(wrong: Any) -> list[int]:
    """Return the position of the first true element."""
    return [int(each[0]) for each in np.nonzero(wrong)] if np.ndim(wrong) else []


def _cause_of_value(found: Any, want: Any, dtype: Any) -> str:
    if dtype.kind in "iu" and np.asarray(want).dtype.kind in "iu":
        turn = 1 << (8 * dtype.itemsize)
        wraps = (int(found) - int(want)) % turn == 0 or (dtype.kind == "u" and (int(found) + int(want)) % turn == 0)
        return "integer-overflow" if wraps else ""
    if dtype.kind in "biu":
        return ""
    wide = complex if dtype.kind == "c" else float
    one, other = wide(found), wide(want)
    if np.isnan(other) and not np.isnan(one):
        return "nan-lost"
    if np.isinf(other) and one != other:
        return "infinity-or-zero"
    if np.isnan(one) or np.isinf(one):
        return "overflow"
    return ""


def _integers_right(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> Any:
    """Whether elements are the reference's, or that is not in the dtype."""
    if found.dtype.kind == "b":
        return found == (want != 0)
    if found.dtype == want.dtype:
        return found == want
    if want.dtype.kind in "fc":
        info: Any = np.iinfo(found.dtype) if found.dtype.kind != "b" else None
        outside = ~np.isfinite(want) if info is None else ~np.isfinite(want) | (want < info.min) | (want > info.max)
        return (found == np.where(outside, 0, want)) | outside
    info = np.iinfo(found.dtype)
    return (found.astype(np.int64) == want) | (want < info.min) | (want > info.max)


def _floats_right(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any], case: Case, count: int) -> Any:
    rtol, _ = closeness.TOLERANCES.get(found.dtype, (1e-7, 1e-7))
    if want.dtype == float16:  # as NumPy gives it for bools
        rtol = max(rtol, closeness.TOLERANCES[want.dtype][0])
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    one, other = found.astype(wide), want.astype(wide)
    rounded = want.astype(found.dtype).astype(wide) if want.dtype.kind in "fc" else other
    # (all numbers are positive where sums of halves are asked for: float32 keeps each of them)
    factor = _FACTOR * (1 if case.note == "half" else math.sqrt(count))
    is_finite = np.isfinite(other)
    largest = float(np.abs(other[is_finite]).max(initial=0.0))
    if count > 1 and case.note == "large":  # what is left of large numbers depends on the order
        largest = max([largest, *(float(np.abs(each.values).max(initial=0)) for each in case.arrays)])
    floor = rtol * (largest if count > 1 else min(largest, 1.0))
    if found.dtype == float64:
        rtol, floor = rtol * 1e-3, floor * 1e-3  # 1e-10: what float32 cannot
    near = np.abs(one - other) <= factor * (rtol * np.abs(other) + floor)
    is_too_large = np.isinf(rounded) & is_finite | (case.note == "large") & ~np.isfinite(one)
    if found.dtype.kind == "c":  # infinities of complex numbers have many forms
        is_too_large = is_too_large | ~is_finite
    return (one == rounded) | (np.isnan(one) & np.isnan(other)) | near | is_too_large


def _more_special(subject: Subject, samples: Samples, case: Case) -> Iterator[Case]:
    kinds = {each.values.dtype.kind for each in case.arrays}
    if kinds & {*"fVc"}:
        for note, numbers in _NUMBERS.items():
            yield case.converted(partial(_filled, numbers=numbers), note)
    if kinds & {*"iu"}:
        yield case.converted(samples.extreme, "extremes")


_NUMBERS: Final[dict[str, tuple[float, ...]]] = {
    "tiny": (1e-9, -2e-9, 3e-10),
    "offset": (10000.0, 10001.0, 10002.0, 10003.5),
    "steep": (1000.0, -900.0, 88.0, 750.0),
}


def _filled(value: Array, _: int, *, numbers: tuple[float, ...]) -> Array:
    array = value.values
    if array.dtype.kind in "biu":
        return value
    with np.errstate(all="ignore"):
        return Array(np.resize(np.array(numbers), array.shape).astype(array.dtype))
