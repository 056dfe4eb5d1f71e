"""The base of properties: what each says of itself, and the two questions that it answers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from opwright_gate.programs import program
from opwright_gate.shrinking import shrink
from opwright_gate.verdicts import Verdict

if TYPE_CHECKING:
    from opwright_gate.cases import Case
    from opwright_gate.samples import Samples
    from opwright_gate.subjects import Subject

__all__ = ["SECONDS", "CaseProperty", "Problem", "Property"]

SECONDS: Final = 0.5  # of this process, for one property: slow operators are asked with fewer calls


class Problem(NamedTuple):
    """A fault that one call shows: its cause, a sentence on it, and the lines of a program that show it; the call where
    it is another than the one asked."""

    cause: str
    why: str
    check: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    case: Case | None = None


class Property(ABC):
    """A question about an operator, asked with drawn calls. The texts are those of its page entry."""

    name: ClassVar[str]  # kebab-case
    title: ClassVar[str]
    group: ClassVar[str]
    finds: ClassVar[str]  # one sentence
    example: ClassVar[str]  # a fault that it finds, in Python
    mend: ClassVar[str]

    def applies(self, subject: Subject) -> bool | str:
        """Whether the question can be asked of an operator: True, or the reason why not (False where there is
        nothing to say)."""
        return True

    @abstractmethod
    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield what is wrong, or cannot be decided. Where nothing is yielded, the property held."""

    def broken(self, subject: Subject, case: Case | None, problem: Problem) -> Verdict:
        """Return the verdict on a fault."""
        case = problem.case or case
        shown = "" if case is None else program(subject, case, problem.check, problem.before)
        return Verdict(
            subject.name,
            self.name,
            "broken",
            subject.backend,
            problem.cause,
            problem.why,
            "" if case is None else str(case),
            shown,
        )

    def undecided(self, subject: Subject, why: str, cause: str = "") -> Verdict:
        """Return the verdict that nobody can tell."""
        return Verdict(subject.name, self.name, "undecided", subject.backend, cause, why)


class CaseProperty(Property):
    """A question that each call answers by itself: the first that fails is made small, one for each cause."""

    compares_values: ClassVar[bool] = False

    @abstractmethod
    def cases(self, subject: Subject, samples: Samples) -> Iterable[Case]:
        """Yield the calls to ask."""

    @abstractmethod
    def problem(self, subject: Subject, case: Case) -> Problem | None:
        """Return what is wrong with a call."""

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each cause that is found."""
        if self.compares_values and samples.why_unstable:
            yield self.undecided(subject, samples.why_unstable, "not-comparable")
            return
        seen = set()
        until = time.process_time() + SECONDS
        for case in self.cases(subject, samples):
            if time.process_time() > until:  # (small calls come first)
                return
            problem = self.problem(subject, case)
            if problem is None or problem.cause in seen:
                continue
            seen.add(problem.cause)
            yield self.smallest(subject, case, problem)

    def smallest(self, subject: Subject, case: Case, problem: Problem) -> Verdict:
        """Return the verdict on the smallest call that fails for the same cause."""

        def fails(smaller: Case) -> bool:
            found = self.problem(subject, smaller)
            return found is not None and found.cause == problem.cause

        small = shrink(case, fails)
        return self.broken(subject, small, self.problem(subject, small) or problem)
