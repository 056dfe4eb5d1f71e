"""Files and lines that declare operators: what annotations of a report point to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

__all__ = ["places_elsewhere", "places_of"]

_PLACE: Final = re.compile(r"(.+):([0-9]{1,9})")
_MOST_SECONDS: Final = 60.0


def places_elsewhere(names: Iterable[str], modules: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return the file and line of operators, which a process of its own knows that imports `modules`: the gate's own
    imports none. Nothing is known where they cannot be imported."""
    given = json.dumps({"names": list(names), "modules": list(modules)})
    command = [sys.executable, "-m", __name__]
    try:
        run = subprocess.run(
            command, input=given, capture_output=True, text=True, errors="replace", timeout=_MOST_SECONDS, check=False
        )
        read = json.loads(run.stdout.rpartition("\n\0")[2])
        return {str(name): (str(file), int(line)) for name, (file, line) in read.items()}
    except (subprocess.TimeoutExpired, ValueError, TypeError, AttributeError):
        return {}


def places_of(names: Iterable[str], root: str | None = None) -> dict[str, tuple[str, int]]:
    """Return the file and line of each operator that this process knows, relative to `root` where they are below it.

    A place that is no file (`<stdin>`, the cell of a notebook) is left out.
    """
    from opwright_core.dispatch.call.operator import find_operator

    root = os.path.realpath(os.getcwd() if root is None else root)
    found = {}
    for name in names:
        try:
            where = find_operator(name).where
        except Exception:  # there is none of that name
            continue
        for text in (where, where.partition(" at ")[2]):  # "scale at ops.py:3" of a function
            parts = _PLACE.fullmatch(text)
            file = os.path.realpath(os.path.join(root, parts[1])) if parts is not None else ""
            if parts is not None and os.path.isfile(file):
                inside = file.startswith(root + os.sep)
                found[name] = (os.path.relpath(file, root) if inside else file, int(parts[2]))
                break
    return found


def main() -> None:
    """Print the places of the operators that standard input names, behind whatever modules print."""
    from opwright_gate.loading import load_modules

    given = json.load(sys.stdin)
    load_modules(given["modules"])
    print("\n\0" + json.dumps(places_of(given["names"])))


if __name__ == "__main__":
    main()
