"""The command `list`: the operators of a project, and what serves each."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TextIO

from opwright_codegen.commands.job import Job
from opwright_codegen.commands.show import name_matches
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import UsageError, nearest
from opwright_codegen.findings.table import write_table

if TYPE_CHECKING:
    from opwright_codegen.declared.parts import DerivativeSet, Operator

__all__ = ["list_operators"]

_HEADINGS: Final = ("operator", "kernels", "gradient", "declared")


def list_operators(job: Job, arguments: Namespace, out: TextIO) -> int:
    """Print a line for each operator, or JSON. Raises UsageError for a pattern that no name matches."""
    rows = [_row(each, found.derivatives) for found in declare(job, binds=False).values() for each in found.all]
    if arguments.pattern:
        known = [row["name"] for row in rows]
        rows = [row for row in rows if name_matches(row["name"], arguments.pattern)]
        if not rows:
            near = nearest(arguments.pattern, (name.partition("::")[2] for name in known))
            hint = f": did you mean {near!r}?" if near else ""
            raise UsageError(f"no operator matches {arguments.pattern!r}{hint}")
    if arguments.format == "json":
        json.dump({"format": 1, "operators": rows}, out, indent=1)
        out.write("\n")
        return 0
    cells = [(row["name"], _kernels_text(row), row["gradient"], f"{row['file']}:{row['line']}") for row in rows]
    write_table(_HEADINGS, cells, out)
    return 0


def _row(operator: Operator, derivatives: DerivativeSet | None) -> dict[str, Any]:
    return {
        "name": operator.name,
        "schema": str(operator.schema),
        "kind": operator.kind.name.lower(),
        "made": operator.generated,
        "file": operator.location.source.shown_path(),
        "line": operator.location.line,
        "kernels": dict(_kernels(operator)),
        "served_by": operator.base_name,
        "gradient": _gradient(operator, derivatives),
        "doc": bool(operator.doc),
    }


def _kernels(operator: Operator) -> Iterator[tuple[str, str]]:
    """Yield the kernel for each key: of an expression its text."""
    for key, kernel in operator.dispatch:
        yield key, str(kernel)


def _gradient(operator: Operator, derivatives: DerivativeSet | None) -> str:
    """Return what gives the gradient: a formula, those of the operators that a composite calls; "" for nothing."""
    if derivatives is not None and derivatives.entries.get(operator.name):
        return "formula"
    return "parts" if any(key == "CompositeImplicitAutograd" for key, _ in operator.dispatch) else ""


def _kernels_text(row: dict[str, Any]) -> str:
    if row["served_by"]:
        return f"those of {row['served_by'].partition('::')[2]}"
    keys: dict[str, list[str]] = {}
    for key, kernel in row["kernels"].items():
        keys.setdefault(kernel, []).append(key)
    return "; ".join(f"{', '.join(names)}: {kernel}" for kernel, names in keys.items())
