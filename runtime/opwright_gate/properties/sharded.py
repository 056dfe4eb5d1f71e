"""The dimension rule: operands cut at each factor, the operator on the parts, results put together as the rule says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from opwright.dimensions.cutting import Part, ends_of, parts_of, put_together, summands
from opwright.dimensions.deriving import rule_of
from opwright.dimensions.kinds import AGAIN, MAX, MIN, PARALLEL, SUM, Kind
from opwright.dimensions.rule import ONE, DimensionRule
from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import difference, shown_error
from opwright_gate.properties.property import CaseProperty, Problem
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject

__all__ = ["Sharded", "missing_kinds", "problem_of", "rule_for"]

_COUNTS: Final = (2, 3)
_TRIED: Final[tuple[Kind, ...]] = (SUM, MAX, MIN)
Outputs = list[tuple[str, np.ndarray[Any, Any]]]


class Sharded(CaseProperty):
    """Parts of operands, cut as the dimension rule says, give the parts of the result."""

    name, title, group = "sharded", "Is cut as its dimension rule says", "sharding"
    finds = "A dimension that is said to be parallel, or to be summed, and is not: blocks and shardings would be wrong."
    example = "return np.sort(x)  # dims: ... n -> ... n"
    mend = "Say in `dims` what each dimension is; `whole, since …` where parts cannot be put together."
    compares_values = True

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator has a rule: functional ones have, with tensors."""
        signature = subject.operator.signature
        return not (subject.origin == "torch" or signature.written or not signature.tensors)

    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield the first call of each kind of dtype, and others of the first dtype."""
        yield from (*samples.some[:2], *samples.more)

    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return the first factor by which parts do not give the whole."""
        rule = rule_for(subject, case)
        return None if rule is None else problem_of(subject, case, rule)


def problem_of(subject: Subject, case: Case, rule: DimensionRule) -> Problem | None:
    """Return the first factor of a rule by which parts do not give the whole."""
    for factor in rule.factors:
        why = "" if rule.kind(factor).word == "whole" else _wrong(subject, case, rule, factor)
        if why:
            return Problem(f"sharding-wrong-{rule.kind(factor).word}", f"{rule}: {why}")
    for group in rule.linear:
        if why := _wrong_sum(subject, case, group):
            return Problem("sharding-wrong-linear", why)
    return None


def _wrong_sum(subject: Subject, case: Case, group: Sequence[int]) -> str:
    """Return how results for partial sums of operands do not sum to the result, "" where they do."""
    arrays = [each.values for each in case.arrays]
    whole = _results(subject, case)
    if whole is None or any(arrays[place].dtype.kind not in "fc" for place in group):
        return ""
    pairs = [summands(array) if n in group else (array, array) for n, array in enumerate(arrays)]
    made = [_of_part(subject, case, [pair[side] for pair in pairs]) for side in (0, 1)]
    found = [(name, np.asarray(sum(each))) for (name, _), *each in zip(whole, *made, strict=True)]
    text = difference(found, whole, with_dtypes=False)
    names = " and ".join(f"tensor {place + 1}" for place in group)
    return f"it is not linear in {names}: of partial sums {text}" if text else ""


def rule_for(subject: Subject, case: Case) -> DimensionRule | None:
    """Return the rule of a call, None where fakes refuse it."""
    try:
        return rule_of(subject.operator, case.call(subject.operator).arguments)
    except Exception:
        return None


def _wrong(subject: Subject, case: Case, rule: DimensionRule, factor: str) -> str:
    """Return how parts differ from the whole, "" where they do not, or cannot be made: a size of 1 has none."""
    arrays = [each.values for each in case.arrays]
    if len(arrays) != len(rule.operands):
        return ""
    size = rule.size(factor, [array.shape for array in arrays])
    whole = _results(subject, case)
    if whole is None or [array.ndim for _, array in whole] != [len(own) for own in rule.results]:
        return ""  # (its results are not those of fakes, which is another fault)
    for count in _COUNTS:
        ends = ends_of(size, count)
        if len(ends) <= 2 or 0 in np.diff(ends):
            continue
        said = f"cut at {factor!r} ({rule.kind(factor)}) at {ends[1:-1]}"
        try:
            found = _joined(subject, case, rule, factor, parts_of(rule, factor, arrays, ends))
        except _RefusedError as error:
            return f"{said} {error}"
        except ValueError as error:
            return f"{said}: {error}"
        text = difference([(name, one) for (name, _), one in zip(whole, found, strict=True)], whole)
        if text:
            return f"{said} the parts are not the whole: {text}"
    return ""


class _RefusedError(Exception):
    """A part that the operator does not take."""


def _joined(
    subject: Subject, case: Case, rule: DimensionRule, factor: str, parts: Sequence[Part]
) -> list[np.ndarray[Any, Any]]:
    made = [_of_part(subject, case, part.operands) for part in parts]

    def again(operand: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        return _of_part(subject, case, [operand])

    return put_together(rule, factor, made, parts, again)


def _of_part(subject: Subject, case: Case, operands: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    given: Iterator[np.ndarray[Any, Any]] = iter(operands)
    found = _results(subject, case.converted(lambda a, _: Array(np.array(next(given), order="C"))), refuses=True)
    assert found is not None
    return [array for _, array in found]


def _results(subject: Subject, case: Case, *, refuses: bool = False) -> Outputs | None:
    answer = subject.run(case)
    if answer.error is not None:
        if refuses:
            raise _RefusedError(f"a part is refused: {shown_error(answer.error)}")
        return None
    found = checking.results_of(subject.operator, answer.result)
    return [(each.name, np.array(each.tensor.numpy(force=True))) for each in found]


def missing_kinds(subject: Subject, cases: Sequence[Case]) -> list[str]:
    """Return what may be said of factors that are whole, or put together by the operator, since it holds for all of
    these calls: `c sum`, `a parallel, dimension 0 of the result`. Factors of one size are tried together, too."""
    found: dict[str, int] = {}
    for case in cases:
        rule = rule_for(subject, case)
        if rule is None or len(case.arrays) != len(rule.operands):
            continue
        for factor in rule.of_kind("whole", AGAIN.word):
            for text, guess in _guesses(subject, case, rule, factor):
                if not _wrong(subject, case, guess, factor):
                    found[text] = found.get(text, 0) + 1
    return [text for text, count in found.items() if count == len(cases)]


def _guesses(subject: Subject, case: Case, rule: DimensionRule, factor: str) -> Iterator[tuple[str, DimensionRule]]:
    """Yield other rules for a factor, with what they say."""
    shapes = [each.values.shape for each in case.arrays]
    size = rule.size(factor, shapes)
    if size < 2:
        return
    same = [each for each in rule.of_kind("whole") if each != factor and rule.size(each, shapes) == size]
    whole = _results(subject, case) or [("", np.empty(()))]
    if len(whole[0][1].shape) != len(rule.results[0]):
        return
    for others in ([], same) if same else ([],):
        operands = tuple([tuple([factor if n in others else n for n in own]) for own in rule.operands])
        if any(own.count(factor) > 1 for own in operands):
            continue
        with_others = f" with {', '.join(others)}" if others else ""
        kinds = {name: kind for name, kind in rule.kinds.items() if name not in (factor, *others)}
        for kind in _TRIED:
            yield f"{factor} {kind}{with_others}", replace(rule, operands=operands, kinds=kinds | {factor: kind})
        for dim, (name, length) in enumerate(zip(rule.results[0], whole[0][1].shape, strict=True)):
            if name == ONE and length == size and len(rule.results) == 1:
                results = ((*rule.results[0][:dim], factor, *rule.results[0][dim + 1 :]),)
                text = f"{factor} {PARALLEL}{with_others}, dimension {dim} of the result"
                yield text, replace(rule, operands=operands, results=results, kinds=kinds)
