"""The command `schema`: the JSON Schemas of files that Opwright reads and writes, for editors and programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TextIO

from opwright_codegen import data_folder

__all__ = ["SCHEMAS", "keys_table", "show_schema"]

_FOLDER: Final = "schemas"  # one of data_folder
_PRINTED: Final = "opwright_codegen.findings"
# By the name of a file's kind: the folder and name of its schema, if the generator does not make it, and its content.
SCHEMAS: Final = {
    "operators": ("", "", "schema files"),
    "keys": ("", "", "the keys of schema files, as a table in Markdown"),
    "derivatives": (_FOLDER, "derivatives.schema.json", "derivatives.yaml"),
    "settings": (_FOLDER, "settings.schema.json", "[tool.opwright] of pyproject.toml"),
    "declared": ("opwright_codegen.declared", "declared.schema.json", "what generate --declared writes"),
    "findings": (_PRINTED, "findings.schema.json", "what commands print with --format json"),
    "breaking": (_PRINTED, "breaking.schema.json", "what breaking prints so"),
    "list": (_PRINTED, "list.schema.json", "what list prints so"),
    "doctor": (_PRINTED, "doctor.schema.json", "what doctor prints so"),
    "report": ("opwright_gate.reports", "report.schema.json", "reports of gate and coverage"),
}


def show_schema(name: str | None, out: TextIO) -> int:
    """Print a JSON Schema, or the table of keys; without a name, the list of them."""
    match name:
        case None:
            out.writelines(f"{each:12} {what}\n" for each, (_, _, what) in SCHEMAS.items())
        case "operators":
            from opwright_codegen.output.editor_schema import editor_schema

            out.write(editor_schema())
        case "keys":
            out.writelines(f"{line}\n" for line in keys_table())
        case _:
            from importlib.resources import files  # which no other command loads for the names alone

            package, file, _ = SCHEMAS[name]
            folder = data_folder(package) if package == _FOLDER else files(package)
            out.write((folder / file).read_text(encoding="utf-8"))
    return 0


def keys_table() -> Iterator[str]:
    """Yield the lines of a Markdown table of the keys of schema files, in the order of `opwright fmt`."""
    from opwright_codegen.read.entry_keys import KEYS

    yield "| key | value |"
    yield "| --- | --- |"
    for key in KEYS.values():
        yield f"| `{key.name}` | {key.says.replace('|', chr(92) + '|')} |"
