"""The rules of SARIF 2.1.0 for the parts that our reports use: names, kinds and levels as the standard has them."""

from __future__ import annotations

from typing import Any


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT: dict[str, Any] = {"type": "string"}
_BAG: dict[str, Any] = {"type": "object"}
_FROM_1: dict[str, Any] = {"type": "integer", "minimum": 1}
_MESSAGE = _closed(["text"], text={"type": "string", "minLength": 1})
_RULE = _closed(["id"], id=_TEXT, shortDescription=_MESSAGE, fullDescription=_MESSAGE, help=_MESSAGE, properties=_BAG)
_DRIVER = _closed(["name"], name=_TEXT, version=_TEXT, rules={"type": "array", "uniqueItems": True, "items": _RULE})
_PHYSICAL = _closed(
    ["artifactLocation"],
    artifactLocation=_closed([], uri={"type": "string", "pattern": "^[!-~]+$"}, uriBaseId=_TEXT),
    region=_closed([], **dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), _FROM_1)),
)
_LOGICAL = _closed([], fullyQualifiedName=_TEXT, kind=_TEXT)
_LOCATION = _closed(
    [], physicalLocation=_PHYSICAL, logicalLocations={"type": "array", "uniqueItems": True, "items": _LOGICAL}
)
_SUPPRESSION = _closed(["kind"], kind={"enum": ["inSource", "external"]}, justification=_TEXT)
_RESULT = _closed(
    ["message"],
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
    suppressions={"type": "array", "minItems": 0, "uniqueItems": True, "items": _SUPPRESSION},
    properties=_BAG,
) | {
    # §3.27.10: a level other than "none" is for results that fail.
    "if": {"properties": {"kind": {"not": {"const": "fail"}}}},
    "then": {"properties": {"level": {"const": "none"}}},
}
_RUN = _closed(
    ["tool"],
    tool=_closed(["driver"], driver=_DRIVER),
    invocations={
        "type": "array",
        "items": _closed(
            ["executionSuccessful"], executionSuccessful={"type": "boolean"}, exitCode={"type": "integer"}
        ),
    },
    automationDetails=_closed([], id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
    properties=_BAG,
)
_LOG = {"$schema": _TEXT, "version": {"const": "2.1.0"}, "runs": {"type": "array", "items": _RUN}}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_closed(["version", "runs"], **_LOG),
}
