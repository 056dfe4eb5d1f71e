"""A report as GitHub's workflow commands: annotations beside the lines that declare operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TextIO

from opwright_gate.reports.baseline import Standing
from opwright_gate.reports.texts import cut, one_line, printable
from opwright_gate.verdicts import Verdict

__all__ = ["write_commands"]

_LONGEST: Final = 4000  # GitHub cuts annotations at 4,096 characters
_IN_VALUES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES: Final = _IN_VALUES | {":": "%3A", ",": "%2C"}


def write_commands(standing: Standing, places: Mapping[str, tuple[str, int]], stream: TextIO) -> None:
    """Write an error for each finding, a notice for each that is known, a warning for each entry that is out of date,
    and a notice with the totals."""
    for verdict in standing.findings:
        text = f"{one_line(verdict.why)}\n{printable(verdict.program)}".strip()
        stream.write(_command("error", verdict, text, places))
    for verdict, entry in standing.excused:
        until = f" (until {entry.until})" if entry.until else ""
        text = f"known since {entry.date}{until}: {one_line(entry.reason)}"
        stream.write(_command("notice", verdict, text, places))
    for entry in standing.gone:
        text = f"{entry.place}: {entry.operator} {entry.property} occurs no more: remove the entry"
        stream.write(f"::warning title={_escaped('baseline', _IN_PROPERTIES)}::{_escaped(text, _IN_VALUES)}\n")
    counts = standing.counts
    text = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    stream.write(f"::notice title=opwright gate::{standing.percent:.1f} %25 held of what was decided ({text})\n")


def _command(kind: str, verdict: Verdict, text: str, places: Mapping[str, tuple[str, int]]) -> str:
    title = " ".join(filter(None, (verdict.operator, verdict.property, verdict.cause)))
    properties = {"title": one_line(title)}
    if verdict.operator in places:
        file, line = places[verdict.operator]
        properties = {"file": file, "line": str(line)} | properties
    shown = ",".join(f"{name}={_escaped(value, _IN_PROPERTIES)}" for name, value in properties.items())
    return f"::{kind} {shown}::{_escaped(cut(text, _LONGEST), _IN_VALUES)}\n"


def _escaped(text: str, replaced: Mapping[str, str]) -> str:
    return "".join(replaced.get(char, char) for char in text)
