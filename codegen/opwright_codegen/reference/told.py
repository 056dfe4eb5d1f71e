"""Facts that the installed runtime tells of operators, in a process that may end at any of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opwright_codegen.errors import UsageError, library_module

__all__ = ["Facts", "told"]

Facts = dict[str, Any]  # as `opwright_gate.showing.facts` has them


def told(
    targets: Sequence[str], modules: Sequence[str], report: str | None, environment: Mapping[str, str]
) -> dict[str, Facts]:
    """Return the facts of all operators of namespaces and packages, by name. An operator whose call ends the process
    is told of by another one, which does not call it. Raises UsageError where there is no operator."""
    given = {"targets": list(targets), "modules": list(modules), "report": report, "names": [], "calls": True}
    found: dict[str, Facts] = {}
    names: list[str] | None = None
    while names is None or (left := [name for name in names if name not in found]):
        lines = list(_lines(given | {"names": [] if names is None else left}, environment))
        if names is None:
            names = next((line["names"] for line in lines if "names" in line), [])
            if not names:
                raise UsageError(f"there is no operator of {', '.join(targets)}: name a namespace, or a package")
        found |= {line["name"]: line for line in lines if "name" in line}
        begun = [line["begin"] for line in lines if "begin" in line]
        if ended := next((name for name in begun if name not in found), None):
            quiet = _lines(given | {"names": [ended], "calls": False}, environment)
            found |= {ended: {"name": ended, "schema": ended}} | {
                line["name"]: line for line in quiet if "name" in line
            }
        elif not begun:
            break
    return {name: found[name] for name in names if name in found}


def _lines(given: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Facts]:
    """Yield what one process says. Raises UsageError where it says why it cannot."""
    command = [sys.executable, "-m", library_module("opwright_gate.showing")]
    run = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, errors="replace", check=False, env=environment
    )
    if run.returncode == 2:
        raise UsageError(run.stderr.strip().rpartition("\n")[2] or "the runtime tells nothing of operators")
    for line in run.stdout.splitlines():
        if line.startswith("\0"):
            yield json.loads(line[1:])
