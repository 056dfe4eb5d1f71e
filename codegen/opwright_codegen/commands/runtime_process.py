"""The process of the installed runtime, which the generator never imports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from opwright_codegen.errors import SchemaError

__all__ = ["run_in_runtime"]


def run_in_runtime(program: str, arguments: Sequence[str], problem: str, code: str, *, plugins: bool = True) -> str:
    """Return what a program of Python prints in another process, in which there may be no plug-ins.

    Raises SchemaError, with the problem and the last line of the program's error, where it fails.
    """
    environment = os.environ if plugins else os.environ | {"OPWRIGHT_PLUGINS": "0"}
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode == 0:
        return run.stdout
    last = run.stderr.strip().rpartition("\n")[2].partition(": ")[2]
    raise SchemaError(code, f"{problem}: {last}")
