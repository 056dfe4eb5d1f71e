"""The process of the installed runtime, which the generator never imports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["RuntimeProcessError", "run_in_runtime"]


class RuntimeProcessError(Exception):
    """A failure of a program in the runtime: the last line of its error."""


def run_in_runtime(program: str, arguments: Sequence[str], *, plugins: bool = True) -> str:
    """Return what a program of Python prints in another process, in which there may be no plug-ins.

    Raises RuntimeProcessError where it fails.
    """
    environment = os.environ if plugins else os.environ | {"OPWRIGHT_PLUGINS": "0"}
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise RuntimeProcessError(run.stderr.strip().rpartition("\n")[2].partition(": ")[2])
    return run.stdout
