"""Findings as GitHub's workflow commands: annotations beside the lines that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TextIO

from opwright_codegen.findings.finding import Finding, Level, Outcome
from opwright_codegen.findings.texts import fit, of_the_workspace, one_line

__all__ = ["write_commands"]

_LONGEST: Final = 4000  # GitHub cuts annotations at 4,096 characters
_KINDS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "note": "notice"}
_IN_VALUES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES: Final = _IN_VALUES | {":": "%3A", ",": "%2C"}


def write_commands(outcome: Outcome, stream: TextIO) -> None:
    """Write a command for each finding."""
    for finding in outcome.findings:
        properties = {name: value for name, value in _properties(finding).items() if value}
        shown = ",".join(f"{name}={_escaped(value, _IN_PROPERTIES)}" for name, value in properties.items())
        text = "\n".join(filter(None, (fit(finding.message), finding.hint and f"hint: {fit(finding.hint)}")))
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        stream.write(f"::{_KINDS[finding.level]} {shown}::{_escaped(text, _IN_VALUES)}\n")


def _properties(finding: Finding) -> dict[str, str]:
    """Return the properties of a command. GitHub refuses columns of a finding that has several lines."""
    is_short = finding.end_line in (0, finding.line) and finding.line
    return {
        "file": of_the_workspace(finding.file) if finding.file else "",
        "line": _number(finding.line),
        "endLine": _number(finding.end_line),
        "col": _number(finding.column) if is_short else "",
        "endColumn": _number(finding.end_column) if is_short else "",
        "title": one_line(" ".join(filter(None, ("opwright", finding.code, finding.about)))),
    }


def _number(number: int) -> str:
    return str(number) if number else ""


def _escaped(text: str, replaced: Mapping[str, str]) -> str:
    return "".join(replaced.get(char, char) for char in text)
