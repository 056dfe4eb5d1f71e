"""A report in JUnit's form: a suite for each operator and backend, a case for each property."""

from __future__ import annotations

import re
from typing import Final, TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from opwright_gate.reports.baseline import Standing
from opwright_gate.reports.texts import one_line, printable
from opwright_gate.verdicts import Verdict

__all__ = ["write_junit"]

# What no XML document may hold, not even escaped (XML 1.0, production 2).
_REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(standing: Standing, stream: TextIO) -> None:
    """Write the report: findings are failures, known ones and what was not decided are skipped, with the reason."""
    report = standing.report
    root = Element("testsuites", _numbers(standing, report.verdicts, report.seconds) | {"name": "opwright gate"})
    for (operator, backend), verdicts in _suites(standing).items():
        seconds = sum(each.seconds for each in verdicts)
        attributes = {"name": f"{operator} ({backend})"} | _numbers(standing, verdicts, seconds)
        suite = SubElement(root, "testsuite", _clean(attributes))
        properties = SubElement(suite, "properties")
        for name, value in {"backend": backend, "seed": str(report.seed), **report.versions}.items():
            SubElement(properties, "property", _clean({"name": name, "value": value}))
        for each in verdicts:
            _add_case(standing, suite, each)
    indent(root)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode")
    stream.write("\n")


def _suites(standing: Standing) -> dict[tuple[str, str], tuple[Verdict, ...]]:
    found: dict[tuple[str, str], tuple[Verdict, ...]] = {}
    for each in standing.report.verdicts:
        key = each.operator, each.backend
        found[key] = (*found.get(key, ()), each)
    return found


def _numbers(standing: Standing, verdicts: tuple[Verdict, ...], seconds: float) -> dict[str, str]:
    kinds = [standing.kind(each) for each in verdicts]
    return {
        "tests": str(len(kinds)),
        "failures": str(kinds.count("broken")),
        "errors": "0",
        "skipped": str(kinds.count("known") + kinds.count("undecided")),
        "time": f"{seconds:.3f}",
    }


def _add_case(standing: Standing, suite: Element, verdict: Verdict) -> None:
    attributes = {"classname": verdict.operator, "name": verdict.property, "time": f"{verdict.seconds:.3f}"}
    case = SubElement(suite, "testcase", _clean(attributes))
    known = standing.known_as(verdict)
    if known is not None:
        SubElement(case, "skipped", _clean({"message": f"known since {known.date}: {one_line(known.reason)}"}))
    elif verdict.verdict == "undecided":
        SubElement(case, "skipped", _clean({"message": one_line(verdict.why)}))
    elif verdict.verdict == "broken":
        failure = SubElement(case, "failure", _clean({"message": one_line(verdict.why), "type": verdict.cause}))
        parts = (one_line(verdict.call), printable(verdict.program))
        failure.text = _REFUSED.sub("\ufffd", "\n".join(filter(None, parts)))


def _clean(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _REFUSED.sub("\ufffd", value) for name, value in attributes.items()}
