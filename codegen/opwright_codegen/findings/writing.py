"""The formats of findings, by name: `write_outcome`."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TextIO, assert_never, cast, get_args

from opwright_codegen import VERSION
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.findings.texts import fit
from opwright_codegen.records import as_dict

__all__ = ["FORMATS", "Format", "write_outcome"]

Format = Literal["text", "json", "github", "sarif", "junit"]
FORMATS: Final = cast(tuple[Format, ...], get_args(Format))
_FORMAT: Final = 1  # of the JSON: grows where a reader of before would misread it


def write_outcome(outcome: Outcome, format: Format, stream: TextIO) -> None:
    """Write what a command came to. What the command prints for people besides is no part of it."""
    match format:
        case "text":
            from opwright_codegen.findings.text import write_findings

            write_findings(outcome.findings, stream)
        case "json":
            json.dump(_json(outcome), stream, indent=1, ensure_ascii=True)
            stream.write("\n")
        case "github":
            from opwright_codegen.findings.github import write_commands

            write_commands(outcome, stream)
        case "sarif":
            from opwright_codegen.findings.sarif import write_sarif

            write_sarif(outcome, stream)
        case "junit":
            from opwright_codegen.findings.junit import write_junit

            write_junit(outcome, stream)
        case _:
            assert_never(format)


def _json(outcome: Outcome) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "opwright": VERSION,
        "command": outcome.command,
        "status": outcome.status,
        "findings": [_fields(each) for each in outcome.findings],
        "files": list(dict.fromkeys(map(fit, outcome.files))),
        "facts": outcome.facts,
    }


def _fields(finding: Finding) -> dict[str, Any]:
    """Return what is known of a finding, by the names of its fields."""
    return {
        name: fit(value) if isinstance(value, str) else value
        for name, value in as_dict(finding).items()
        if value or name in ("code", "message", "level")
    }
