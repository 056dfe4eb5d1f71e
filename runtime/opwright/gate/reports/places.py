"""Files and lines that declare operators: what annotations of a report point to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from opwright_core.dispatch.registry.tables import registry

__all__ = ["places_of"]

_PLACE: Final = re.compile(r"(.+):([0-9]{1,9})")


def places_of(names: Iterable[str], root: str | None = None) -> dict[str, tuple[str, int]]:
    """Return the file and line of each operator that this process knows, relative to `root` where they are below it.

    A place that is no file (`<stdin>`, the cell of a notebook) is left out.
    """
    root = os.path.realpath(os.getcwd() if root is None else root)
    found = {}
    for name in names:
        operator = registry.operators.get(name)
        parts = _PLACE.fullmatch(operator.where) if operator is not None else None
        if parts is None:
            continue
        file = os.path.realpath(os.path.join(root, parts[1]))
        if os.path.isfile(file):
            inside = file.startswith(root + os.sep)
            found[name] = (os.path.relpath(file, root) if inside else file, int(parts[2]))
    return found
