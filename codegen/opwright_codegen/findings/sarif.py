"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines that they are about."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any, Final, TextIO
from urllib.parse import quote

from opwright_codegen import VERSION
from opwright_codegen.explanations import explanations
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.findings.texts import fit, of_the_workspace

__all__ = ["write_sarif"]

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(outcome: Outcome, stream: TextIO) -> None:
    """Write a result for each finding, and a rule for each code."""
    rules = {code: index for index, code in enumerate(dict.fromkeys(each.code for each in outcome.findings))}
    driver = {"name": "opwright", "version": VERSION, "rules": [_rule(code) for code in rules]}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": outcome.status in (0, 1), "exitCode": outcome.status}],
        "automationDetails": {"id": f"opwright/{outcome.command}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, rules[each.code]) for each in outcome.findings],
        "properties": {"command": outcome.command, "facts": outcome.facts},
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=1, ensure_ascii=True)
    stream.write("\n")


def _rule(code: str) -> dict[str, Any]:
    found = explanations().get(code)
    if found is None:
        return {"id": code}
    text = f"{found.says}\n\nopwright explain {code}"
    return {"id": code, "shortDescription": {"text": found.says}, "help": {"text": text}}


def _result(finding: Finding, index: int) -> dict[str, Any]:
    text = "\n".join(filter(None, (fit(finding.message), finding.hint and f"hint: {fit(finding.hint)}")))
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "kind": "fail",
        "level": finding.level,
        "message": {"text": text or finding.code},
    }
    location: dict[str, Any] = {}
    if finding.file:
        location["physicalLocation"] = _physical(finding)
    if finding.about:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.about, "kind": "function"}]
    if location:
        result["locations"] = [location]
    if finding.more:
        result["properties"] = dict(finding.more)
    return result


def _physical(finding: Finding) -> dict[str, Any]:
    path = PurePath(of_the_workspace(finding.file))
    artifact = {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="replace")}
    if not path.is_absolute():
        artifact["uriBaseId"] = "%SRCROOT%"
    found: dict[str, Any] = {"artifactLocation": artifact}
    numbers = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    if finding.line:
        found["region"] = {name: number for name, number in numbers.items() if number}
    return found
