"""The package of mutants: its schema files, generated as any, without those mutants that the generator refuses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.mutants.mutant import Mutant

__all__ = ["Generate", "generate_mutants"]

_MOST_ROUNDS = 40


class Generate(Protocol):
    """The generator: of the schema file and the derivatives, if there are any, to a folder. Raises SchemaError."""

    def __call__(self, schemas: Path, derivatives: Path | None, /) -> None: ...


def generate_mutants(
    mutants: Sequence[Mutant], folder: Path, generate: Generate
) -> tuple[list[Mutant], dict[str, str]]:
    """Write the package of mutants, and return those that are in it, and why others are refused, by name.

    Each round leaves out what the errors of the one before point at.
    """
    left, refused = list(mutants), dict[str, str]()
    for _ in range(_MOST_ROUNDS):
        schemas, derivatives = folder / "mutants.yaml", folder / "derivatives.yaml"
        starts = _write(schemas, [each.entry for each in left])
        derived = [each for each in left if each.derivative]
        derived_starts = _write(derivatives, [each.derivative for each in derived])
        try:
            generate(schemas, derivatives if derived else None)
            return left, refused
        except SchemaError as error:
            found = {}
            for each in error.errors if isinstance(error, SchemaErrors) else (error,):
                at = _mutant_at(each, left, starts, schemas) or _mutant_at(each, derived, derived_starts, derivatives)
                if at is not None:
                    found[at.name] = f"{each.message} [{each.code}]"
            if not found:
                raise
        refused |= found
        gone = {each.operator for each in left if each.is_control and each.name in refused}
        left = [each for each in left if each.name not in refused and each.operator not in gone]
    return [], refused


def _write(path: Path, texts: Iterable[str]) -> list[int]:
    """Write the entries, and return the line that each begins in."""
    starts, line, parts = [], 1, []
    for text in texts:
        starts.append(line)
        parts.append(text)
        line += text.count("\n")
    path.write_text("".join(parts), encoding="utf-8")
    return starts


def _mutant_at(error: SchemaError, mutants: Sequence[Mutant], starts: Sequence[int], path: Path) -> Mutant | None:
    if error.span is None or Path(error.span.source.path) != path:
        return None
    at = bisect_right(starts, error.span.line) - 1
    return mutants[at] if at >= 0 else None
