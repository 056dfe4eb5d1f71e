"""The command `coverage`: the last report of the gate, shown again, and held to a threshold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import TextIO

from opwright_codegen.commands.report_options import cache_folder, known_findings, wishes_of
from opwright_codegen.errors import UsageError, library_module

__all__ = ["show_coverage"]


def show_coverage(root: Path, arguments: Namespace, out: TextIO) -> int:
    """Print the report that `opwright gate` kept in a project, or that of a file; the status.

    Raises UsageError where there is none, SchemaErrors for a wrong baseline.
    """
    path = Path(arguments.report) if arguments.report else cache_folder(root) / "gate.json"
    if not path.is_file():
        raise UsageError(
            f"there is no report {path}" if arguments.report else "no report is kept here: run `opwright gate` first"
        )
    wishes = wishes_of(arguments, known_findings(arguments.baseline, root)) | {"report": str(path)}
    paths = (str(root), os.environ.get("PYTHONPATH", ""))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", library_module("opwright_gate.reports")]
    run = subprocess.run(command, input=json.dumps(wishes).encode(), env=environment, capture_output=True, check=False)
    if run.returncode not in (0, 1):
        raise UsageError(run.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2].removeprefix("opwright: "))
    sys.stderr.write(run.stderr.decode("utf-8", "replace"))
    out.write(run.stdout.decode("utf-8", "replace"))
    return run.returncode
