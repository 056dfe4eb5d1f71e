"""Findings in JUnit's form: a case for each; and cases that passed, for tests and for files without an error."""

from __future__ import annotations

import re
from typing import Final, TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.findings.text import text_of
from opwright_codegen.findings.texts import fit, one_line

__all__ = ["write_junit"]

# What no XML document may hold, not even escaped (XML 1.0, production 2).
_REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(outcome: Outcome, stream: TextIO) -> None:
    """Write the findings: errors are failures, warnings and notes are skipped, with what they say."""
    failed = {finding.file for finding in outcome.findings if finding.level == "error"}
    passed = [(file, outcome.command) for file in dict.fromkeys(outcome.files) if file not in failed]
    passed += outcome.passed
    numbers = {
        "tests": str(len(outcome.findings) + len(passed)),
        "failures": str(sum(each.level == "error" for each in outcome.findings)),
        "errors": "0",
        "skipped": str(sum(each.level != "error" for each in outcome.findings)),
        "time": f"{float(outcome.facts.get('seconds', 0)):.3f}",
    }
    name = f"opwright {outcome.command}"
    root = Element("testsuites", {"name": name, **numbers})
    suite = SubElement(root, "testsuite", {"name": name, **numbers})
    properties = SubElement(suite, "properties")
    for fact, value in outcome.facts.items():
        SubElement(properties, "property", _clean({"name": fact, "value": str(value)}))
    for subject, asked in passed:
        SubElement(suite, "testcase", _clean({"classname": subject, "name": asked, "time": "0"}))
    for finding in outcome.findings:
        _add_case(suite, finding)
    indent(root)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode")
    stream.write("\n")


def _add_case(suite: Element, finding: Finding) -> None:
    number = f":{finding.line}" if finding.line else ""
    attributes = {"classname": finding.about or finding.file or "opwright", "name": f"{finding.code}{number}"}
    file = {"file": finding.file, "line": str(finding.line)} if finding.file and finding.line else {}
    case = SubElement(suite, "testcase", _clean({**attributes, **file, "time": "0"}))
    message = one_line(finding.message)
    if finding.level == "error":
        failure = SubElement(case, "failure", _clean({"message": message, "type": finding.code}))
        failure.text = _REFUSED.sub("\ufffd", fit(text_of(finding)))
    else:
        SubElement(case, "skipped", _clean({"message": f"{finding.level}: {message}"}))


def _clean(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _REFUSED.sub("\ufffd", fit(value)) for name, value in attributes.items()}
