"""A report as SARIF 2.1.0, which code hosts and editors show beside the lines that declare operators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, TextIO
from urllib.parse import quote

from opwright_gate.properties import PROPERTIES
from opwright_gate.reports.baseline import Standing
from opwright_gate.reports.texts import one_line, printable
from opwright_gate.verdicts import Verdict

__all__ = ["write_sarif"]

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(standing: Standing, places: Mapping[str, tuple[str, int]], stream: TextIO) -> None:
    """Write a result for each finding, known ones as suppressed, and one of kind "open" for what was not decided."""
    report = standing.report
    rules = {name: index for index, name in enumerate(dict.fromkeys(each.property for each in report.verdicts))}
    driver = {
        "name": "opwright gate",
        "version": report.versions.get("opwright", "0"),
        "rules": [_rule(name) for name in rules],
    }
    shown = [each for each in report.verdicts if each.verdict != "held"]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(standing, each, rules[each.property], places) for each in shown],
        "properties": {"target": report.target, "seed": report.seed, "counts": standing.counts},
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=1, ensure_ascii=True)
    stream.write("\n")


def _rule(name: str) -> dict[str, Any]:
    found = next((each for each in PROPERTIES if each.name == name), None)
    if found is None:
        return {"id": name}
    return {
        "id": name,
        "shortDescription": {"text": found.title},
        "fullDescription": {"text": found.finds},
        "help": {"text": f"{found.finds}\n\n{found.example}\n\n{found.mend}"},
        "properties": {"group": found.group},
    }


def _result(standing: Standing, verdict: Verdict, index: int, places: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    is_open = verdict.verdict == "undecided"
    text = f"{verdict.operator}: {one_line(verdict.why) or verdict.cause or 'no reason was given'}"
    result: dict[str, Any] = {
        "ruleId": verdict.property,
        "ruleIndex": index,
        "kind": "open" if is_open else "fail",
        "level": "none" if is_open else "error",
        "message": {"text": text},
        "locations": [_location(verdict.operator, places)],
        "partialFingerprints": {
            "operatorProperty/v1": f"{verdict.operator}/{verdict.property}/{verdict.backend}/{verdict.cause}"
        },
        "properties": {
            "backend": verdict.backend,
            "cause": verdict.cause,
            "call": printable(verdict.call),
            "program": printable(verdict.program),
        },
    }
    known = standing.known_as(verdict)
    if known is not None:
        result["suppressions"] = [{"kind": "external", "justification": f"{known.date}: {one_line(known.reason)}"}]
    return result


def _location(operator: str, places: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": operator, "kind": "function"}]}
    if operator in places:
        file, line = places[operator]
        path = PurePath(file)
        artifact = {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
        if not path.is_absolute():
            artifact["uriBaseId"] = "%SRCROOT%"
        location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": max(line, 1)}}
    return location
