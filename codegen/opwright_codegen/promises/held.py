"""The promises of a lock, held against the schema files that `opwright check` reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.promises.comparing import compare
from opwright_codegen.promises.states import State

__all__ = ["broken_promises"]


def broken_promises(sets: Iterable[DeclaredSet], path: Path) -> Errors:
    """Return what breaks a promise of the lock at `path`: an error each, where it is declared, or in the lock where it
    is gone. Raises SchemaErrors for a lock that cannot be read."""
    errors = Errors()
    for each in compare(State.of_lock(path), State.of_sets("", sets)):
        if each.categories:
            message = f"{each.operator}: {each.message}, which {path.name} promises"
            hint = f"{each.hint}; or promise another thing: opwright freeze" if each.hint else "or: opwright freeze"
            errors.add(SchemaError("promise-broken", message, each.new or each.old, hint))
    return errors
