"""The tests of operators, as pytest writes them down, as findings: one for each property that is broken or open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from opwright_codegen.findings.finding import Finding, Outcome

__all__ = ["add_tests"]

_PREFIX = "Failed: "


def add_tests(outcome: Outcome, path: Path, places: Mapping[str, tuple[str, int]]) -> None:
    """Add the tests of a file in JUnit's form. `places` are the files and lines that declare operators."""
    passed = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, _, asked = case.get("name", "").partition("-")
        operator = f"{case.get('classname', '')}::{name}"
        told = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        if told is None:
            passed += 1
            outcome.passed.append((operator, asked))
            continue
        message, text = told.get("message", "").removeprefix(_PREFIX), told.text or ""
        is_broken = told.tag != "skipped"
        shown, _, program = text.partition("\n\n") if is_broken else (message, "", "")
        place = places.get(operator, ("", 0))
        outcome.findings.append(
            Finding(
                asked or "test-failed",
                shown.removeprefix(f"{operator}: ") or message or "no reason was given",
                "error" if is_broken else "note",
                *place,
                about=operator,
                more={"program": program} if program else {},
            )
        )
    outcome.facts |= {"tests": passed + len(outcome.findings), "passed": passed}
