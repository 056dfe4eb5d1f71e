"""The command `schema`: the JSON Schemas of files that Opwright reads and writes, for editors and programs."""

from __future__ import annotations

from typing import Final, TextIO

__all__ = ["SCHEMAS", "show_schema"]

_FOLDER: Final = "opwright_codegen.schemas"
_PRINTED: Final = "opwright_codegen.findings"
# By the name of a file's kind: where the schema lies, and what it is of.
SCHEMAS: Final = {
    "operators": (_FOLDER, "native_functions.schema.json", "schema files"),
    "derivatives": (_FOLDER, "derivatives.schema.json", "derivatives.yaml"),
    "settings": (_FOLDER, "settings.schema.json", "[tool.opwright] of pyproject.toml"),
    "findings": (_PRINTED, "findings.schema.json", "what commands print with --format json"),
    "breaking": (_PRINTED, "breaking.schema.json", "what breaking prints so"),
    "list": (_PRINTED, "list.schema.json", "what list prints so"),
    "doctor": (_PRINTED, "doctor.schema.json", "what doctor prints so"),
    "report": ("opwright.gate.reports", "report.schema.json", "reports of gate and coverage"),
}


def show_schema(name: str | None, out: TextIO) -> int:
    """Print a JSON Schema; without a name, which there are."""
    if name is None:
        out.writelines(f"{each:12} {what}\n" for each, (_, _, what) in SCHEMAS.items())
        return 0
    from importlib.resources import files  # which no other command loads for the names alone

    package, file, _ = SCHEMAS[name]
    out.write((files(package) / file).read_text(encoding="utf-8"))
    return 0
