"""Known findings: the entries of a baseline file, and a report beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from opwright_gate.reports.texts import cut, one_line
from opwright_gate.verdicts import Report, Verdict

__all__ = ["KINDS", "Kind", "KnownFinding", "Standing", "baseline_text", "known_from_json"]

Kind = Literal["held", "broken", "known", "undecided"]
KINDS: Final[tuple[Kind, ...]] = ("held", "broken", "known", "undecided")
TO_BE_WRITTEN: Final = "to be written"  # the reason of entries that `--write-baseline` makes
_HEAD: Final = (
    "# Findings of `opwright gate` that are known. Say why each is left, and since when;\n"
    "# from the day `until:` on, it is a finding again.\n"
)


@dataclass(frozen=True)
class KnownFinding:
    """An entry of a baseline file. `cause` and `backend` narrow it, where they are given; `place` is where it stands.

    Dates are texts as 2026-11-27, which compare as they stand.
    """

    operator: str
    property: str
    reason: str
    date: str
    cause: str = ""
    backend: str = ""
    until: str = ""
    place: str = ""

    def asks(self, verdict: Verdict) -> bool:
        """Whether a verdict answers the question that the entry is about."""
        return (self.operator, self.property) == (verdict.operator, verdict.property) and (
            self.backend in ("", verdict.backend)
        )

    def names(self, verdict: Verdict) -> bool:
        """Whether a verdict is the finding that the entry is about."""
        return verdict.verdict == "broken" and self.asks(verdict) and self.cause in ("", verdict.cause)

    def is_over(self, today: str) -> bool:
        """Whether the day has come until which the finding may stay."""
        return bool(self.until) and self.until <= today


@dataclass(frozen=True)
class Standing:
    """A report beside what is known: each finding is new or known, and each entry occurs, is over, or occurs no more.

    Without `today` no entry is over.
    """

    report: Report
    known: tuple[KnownFinding, ...] = ()
    today: str = ""
    _by_operator: dict[str, list[KnownFinding]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.known:
            self._by_operator.setdefault(entry.operator, []).append(entry)

    def known_as(self, verdict: Verdict) -> KnownFinding | None:
        """Return the entry that excuses a verdict."""
        entries = self._by_operator.get(verdict.operator, ())
        return next((each for each in entries if each.names(verdict) and not each.is_over(self.today)), None)

    def kind(self, verdict: Verdict) -> Kind:
        """Return what a verdict is beside the baseline."""
        return "known" if self.known_as(verdict) is not None else verdict.verdict

    @cached_property
    def findings(self) -> tuple[Verdict, ...]:
        """Return what is broken, and not known."""
        return tuple(each for each in self.report.findings if self.known_as(each) is None)

    @cached_property
    def excused(self) -> tuple[tuple[Verdict, KnownFinding], ...]:
        """Return the findings that are known, each with its entry."""
        pairs = ((each, self.known_as(each)) for each in self.report.findings)
        return tuple((verdict, entry) for verdict, entry in pairs if entry is not None)

    @cached_property
    def counts(self) -> dict[Kind, int]:
        """Return how many verdicts there are of each kind."""
        return count_kinds(self, self.report.verdicts)

    @property
    def percent(self) -> float:
        """Return how many of the questions that were decided held, in percent; known findings did not."""
        return held_percent(self.counts)

    @cached_property
    def gone(self) -> tuple[KnownFinding, ...]:
        """Return the entries whose question was asked, and whose finding occurs no more."""
        return tuple(entry for entry in self.known if self._is_gone(entry))

    @cached_property
    def over(self) -> tuple[KnownFinding, ...]:
        """Return the entries whose day has come, and that still occur."""
        found = self.report.findings
        return tuple(each for each in self.known if each.is_over(self.today) and any(map(each.names, found)))

    def _is_gone(self, entry: KnownFinding) -> bool:
        asked = [each for each in self.report.by_operator.get(entry.operator, ()) if entry.asks(each)]
        decided = [each for each in asked if each.verdict != "undecided"]
        return bool(decided) and len(decided) == len(asked) and not any(map(entry.names, asked))


def count_kinds(standing: Standing, verdicts: Iterable[Verdict]) -> dict[Kind, int]:
    """Return how many of some verdicts there are of each kind."""
    numbers = Counter(map(standing.kind, verdicts))
    return {kind: numbers[kind] for kind in KINDS}


def held_percent(counts: dict[Kind, int]) -> float:
    """Return how many of what was decided held, in percent: 100 where nothing was."""
    decided = counts["held"] + counts["broken"] + counts["known"]
    return 100.0 * counts["held"] / decided if decided else 100.0


def known_from_json(text: str) -> tuple[KnownFinding, ...]:
    """Return the entries that the command line hands over, which has read and checked the file."""
    return tuple(KnownFinding(**entry) for entry in json.loads(text))


def baseline_text(standing: Standing) -> str:
    """Return a baseline file of all findings: entries that occur stay as they are, others have a reason to be
    written."""
    kept = [entry for entry in standing.known if not standing._is_gone(entry)]
    entries = [*kept, *_new_entries(standing)]
    return _HEAD + "".join(f"\n{_entry_text(entry)}" for entry in entries) if entries else _HEAD + "\n[]\n"


def _new_entries(standing: Standing) -> Iterator[KnownFinding]:
    seen = set()
    for each in standing.findings:
        key = each.operator, each.property, each.backend, each.cause
        if key not in seen and not any(entry.names(each) for entry in standing.known):
            seen.add(key)
            backend = "" if each.backend == "CPU" else each.backend
            reason = f"{TO_BE_WRITTEN}: {cut(one_line(each.why), 120)}".removesuffix(": ")
            yield KnownFinding(each.operator, each.property, reason, standing.today, each.cause, backend)


def _entry_text(entry: KnownFinding) -> str:
    lines = [
        f"{name}: {_quoted(value)}"
        for name in ("operator", "property", "cause", "backend", "reason", "date", "until")
        if (value := getattr(entry, name))
    ]
    return "- " + "\n  ".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as YAML takes it: as it is where it is a plain word, else in quotes (JSON's, which are YAML's)."""
    is_plain = text.isascii() and text.replace("::", "").replace("-", "").replace("_", "").replace(".", "").isalnum()
    return text if is_plain else json.dumps(one_line(text), ensure_ascii=False)
