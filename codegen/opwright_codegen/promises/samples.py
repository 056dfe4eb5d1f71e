"""Results of both states for the same calls: drawn and recorded by the older one's package, repeated by the newer's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opwright_codegen.errors import UsageError, library_module
from opwright_codegen.promises.breakages import CODES, Breakage
from opwright_codegen.promises.states import State
from opwright_codegen.schema.compat import differences

__all__ = ["differences_on_samples"]

Runs = tuple[Sequence[Path], Sequence[str]]  # folders to import from, and packages

_HINTS = {
    "fake-changed": "give the former 'meta' back, or declare another operator: graphs were compiled for these results",
    "value-changed": "a mend of a fault belongs into the notes of the release; else declare another operator",
    "call-refused": "take what was taken, or declare an overload for the rest",
}


def differences_on_samples(
    old: State, new: State, old_runs: Runs, new_runs: Runs, categories: Collection[str], seed: int
) -> list[Breakage]:
    """Return what results of drawn calls differ in. Operators whose calls break by their declarations are left out.

    Raises UsageError where a package cannot be run.
    """
    names = [
        name
        for name, promise in old.promises.items()
        if name in new.promises and not differences(new.promises[name].schema, promise.schema)
    ]
    wishes = {"operators": names, "fakes": "FAKE" in categories, "values": "VALUE" in categories, "seed": seed}
    with TemporaryDirectory(prefix="opwright_calls_") as folder:
        file = Path(folder) / "calls"
        _run("record", file, old_runs, wishes)
        told = json.loads(_run("repeat", file, new_runs, wishes))
    return [_finding(each, old, new) for each in told]


def _finding(told: dict[str, str], old: State, new: State) -> Breakage:
    name, code = told["operator"], told["code"]
    spans = old.promises[name].span, new.promises[name].span
    return Breakage(code, name, told["message"], CODES[code], *spans, _HINTS[code])


def _run(verb: str, file: Path, runs: Runs, wishes: dict[str, Any]) -> str:
    paths, packages = runs
    path = os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    command = [sys.executable, "-P", "-m", library_module("opwright.testing.recorded_calls"), verb, str(file)]
    environment = os.environ | {"PYTHONPATH": path, "OPWRIGHT_PLUGINS": "0"}
    wanted = json.dumps(wishes | {"packages": list(packages)})
    run = subprocess.run(command, input=wanted, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        last = run.stderr.strip().rpartition("\n")[2]
        raise UsageError(f"{', '.join(packages)} cannot be run, which FAKE and VALUE need: {last}")
    return run.stdout
