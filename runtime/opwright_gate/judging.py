"""One operator judged, in the process that is for it: each property asked, verdicts told as they are found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from opwright_core.errors import ContractError
from opwright_gate.cases import CALLED, Case
from opwright_gate.properties import PROPERTIES, CaseProperty, Problem, Property, expected
from opwright_gate.refusing import cause_of, says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.states import Snapshot
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict
from opwright_gate.watching import Board

__all__ = ["chosen", "judge"]

_MOST_REFUSED: Final = 200  # calls that a reference is asked about


def chosen(names: Sequence[str] | None) -> list[Property]:
    """Return the properties of these names, or of these groups, in their order; all for None. Raises ValueError."""
    if names is None:
        return list(PROPERTIES)
    known = {each.name for each in PROPERTIES} | {each.group for each in PROPERTIES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no property {unknown[0]!r}: there are {', '.join(sorted(known))}")
    return [each for each in PROPERTIES if each.name in names or each.group in names]


def judge(
    subject: Subject,
    properties: Sequence[Property],
    seed: int,
    board: Board,
    tell: Callable[[Any], None],
    start: int = 0,
) -> int:
    """Ask an operator the properties from the number `start` on, and `tell` each verdict; return how many drawn calls
    were refused. What a property itself raises is "undecided"."""
    samples = Samples(subject, seed)
    if not start:
        samples.at_first = Snapshot(with_generators=False, with_seeds=False)
    board.property = start
    if not samples.bases:
        _tell_unsampled(subject, samples, properties[start:], tell)
        return sum(samples.refused.values())
    for number, each in enumerate(properties[start:], start):
        board.property = number
        board.touch()
        for verdict in asked(each, subject, samples):
            tell(verdict)
    return sum(samples.refused.values())


def asked(each: Property, subject: Subject, samples: Samples) -> list[Verdict]:
    """Return the verdicts on one property, "held" where there are no others."""
    applies = each.applies(subject)
    if applies is not True:
        return [each.undecided(subject, applies, "not-asked")] if applies else []
    CALLED.clear()
    begin = time.perf_counter()
    try:
        found = list(each.check(subject, samples))
    except Exception as error:
        found = [each.undecided(subject, f"the check raised {type(error).__name__}: {error}", "check-raised")]
    seconds = time.perf_counter() - begin
    if not found:
        found = [Verdict(subject.name, each.name, "held", subject.backend)]
    bases = samples.bases.items()
    dtypes = tuple(str(dtype) for dtype, case in bases if dtype in case.dtypes and case.dtypes in CALLED)
    return [replace(each, seconds=round(seconds, 6), samples=len(samples.bases), dtypes=dtypes) for each in found]


def _is_fault(subject: Subject, case: Case, error: Exception) -> bool:
    """Whether an error of the only calls that were found is a slip, or the reference takes the call."""
    if isinstance(error, ContractError):
        return True
    if subject.reference is not None and subject.reference.looks is not None:
        return expected(subject, case) is not None
    if says_what_is_demanded(error, subject.operator.signature.names):
        return False
    if isinstance(error, AttributeError | NameError | UnboundLocalError | TypeError | ImportError):
        return True
    return subject.reference is not None and expected(subject, case) is not None


def _tell_unsampled(
    subject: Subject, samples: Samples, properties: Sequence[Property], tell: Callable[[Any], None]
) -> None:
    for case, error in samples.breaches[:1]:
        each = next((each for each in properties if each.name == "aliases-as-declared"), None)
        if isinstance(each, CaseProperty):
            known = Problem(cause_of(error) or "refused", str(error).partition("\n")[0])
            tell(each.broken(subject, case, each.problem(subject, case) or known))
    refusals = samples.kernel_errors[:8]
    if subject.reference is not None and subject.reference.looks is not None:
        refusals = [*refusals, *samples.fake_errors[:_MOST_REFUSED]]
    for case, error in refusals:
        each = next((each for each in properties if each.name == "takes-edges"), None)
        if each is not None and _is_fault(subject, case, error):
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            tell(each.broken(subject, case, Problem("refuses-all", f"it takes no call at all: {text}")))
            break
    common = samples.refused.most_common(1)
    said = f"; it said most often: {common[0][0]:.200}" if common else ""
    for each in properties:
        if each.name in ("takes-drawn-calls", "declared-as-reference"):
            for verdict in asked(each, subject, samples):
                tell(verdict)
        elif each.applies(subject) is True:
            tell(each.undecided(subject, f"no arguments were found that the operator takes{said}", "no-samples"))
