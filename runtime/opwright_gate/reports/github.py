"""A report as GitHub's workflow commands, by the generator's writer of findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TextIO

from opwright_codegen.findings import github
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_gate.reports.baseline import Standing
from opwright_gate.reports.texts import one_line

__all__ = ["write_commands"]


def write_commands(standing: Standing, places: Mapping[str, tuple[str, int]], stream: TextIO) -> None:
    """Write an error for each finding, a notice for each that is known, a warning for each entry that is out of date,
    and a notice with the totals."""
    github.write_commands(Outcome("gate", list(_findings(standing, places))), stream)


def _findings(standing: Standing, places: Mapping[str, tuple[str, int]]) -> Iterator[Finding]:
    for each in standing.findings:
        text = f"{each.cause}: {one_line(each.why)}\n{each.program}".strip()
        yield Finding(each.property, text, "error", *places.get(each.operator, ("", 0)), about=each.operator)
    for each, entry in standing.excused:
        until = f" (until {entry.until})" if entry.until else ""
        text = f"{each.cause}: known since {entry.date}{until}: {one_line(entry.reason)}"
        yield Finding(each.property, text, "note", *places.get(each.operator, ("", 0)), about=each.operator)
    for entry in standing.gone:
        text = f"{entry.place}: {entry.operator} {entry.property} occurs no more: remove the entry"
        yield Finding("baseline", text, "warning")
    counts = ", ".join(f"{number} {kind}" for kind, number in standing.counts.items())
    yield Finding("gate", f"{standing.percent:.1f} % held of what was decided ({counts})", "note")
