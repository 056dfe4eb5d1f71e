"""The target `markdown_table`: a table of the operators of a package, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opwright_codegen.declared.document import document
from opwright_codegen.declared.model import DeclaredSet

__all__ = ["files"]


def files(declared: DeclaredSet) -> Mapping[str, str]:
    """Return the files of the target, by their paths below the output folder."""
    facts = document(declared)
    rows = [_row(each) for each in facts["operators"]]
    lines = [
        f"# Operators of {facts['namespace']}",
        "",
        "| operator | keys | gradient | text |",
        "| --- | --- | --- | --- |",
    ]
    return {"docs/operators.md": "\n".join([*lines, *rows]) + "\n"}


def _row(operator: Mapping[str, Any]) -> str:
    keys = ", ".join(kernel["key"] for kernel in operator["kernels"])
    gradient = "yes" if operator["derivatives"] else "no"
    cells = (f"`{operator['schema']}`", keys, gradient, operator["doc"])
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
