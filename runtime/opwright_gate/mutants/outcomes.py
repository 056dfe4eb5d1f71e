"""Mutants of declarations, and what came of each: noticed, equivalent to what was there, or neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["OUTCOMES", "Measure", "Mutant", "Outcome", "Result", "percent"]

Outcome = Literal["noticed", "refused", "unnoticed", "equivalent", "undecided"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("noticed", "refused", "unnoticed", "equivalent", "undecided")


@dataclass(frozen=True)
class Mutant:
    """One change of one operator: the key of the declaration that it changes, and the texts before and after."""

    operator: str
    name: str
    kind: str
    where: str
    before: str
    after: str
    place: str

    @property
    def group(self) -> str:
        """Return the class that it is counted in."""
        return f"{self.where}: {self.kind}"

    @property
    def changed(self) -> str:
        """Return the change, in one line."""
        return f"{self.before} → {self.after}"


@dataclass(frozen=True)
class Result:
    """The outcome of one mutant: the generator refuses it, a property of the gate notices it (`by`), it does the same
    on all samples, the gate found nothing to call it with, or nobody notices it. `why` is the finding or the reason."""

    mutant: Mutant
    outcome: Outcome
    by: str = ""
    why: str = ""


@dataclass(frozen=True)
class Measure:
    """The results of one run. `left_out` has operators that have no mutants here, with the reasons."""

    results: tuple[Result, ...]
    left_out: Mapping[str, str]
    target: str
    seconds: float
    seed: int
    versions: dict[str, str]

    @property
    def groups(self) -> dict[str, Counter[Outcome]]:
        """Return the outcomes of each class, the largest first."""
        found: dict[str, Counter[Outcome]] = {}
        for each in self.results:
            found.setdefault(each.mutant.group, Counter())[each.outcome] += 1
        return dict(sorted(found.items(), key=lambda item: (-item[1].total(), item[0])))

    @property
    def counts(self) -> Counter[Outcome]:
        """Return the outcomes of all."""
        return Counter(each.outcome for each in self.results)

    @property
    def by(self) -> dict[str, int]:
        """Return how many mutants each property noticed first."""
        found = Counter(each.by for each in self.results if each.outcome in ("noticed", "refused"))
        return dict(found.most_common())


def percent(counts: Mapping[Any, int]) -> float | None:
    """Return how many of those mutants that change something were noticed, in percent; None where there are none."""
    noticed = counts.get("noticed", 0) + counts.get("refused", 0)
    changing = noticed + counts.get("unnoticed", 0) + counts.get("undecided", 0)
    return 100.0 * noticed / changing if changing else None
