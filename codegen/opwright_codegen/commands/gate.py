"""The command `gate`: operators judged by their declarations, in the process of the installed runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["run_gate"]

_TOLD: Final = (0, 1)


def run_gate(words: Sequence[str]) -> int:
    """Run the gate of the runtime with the words of the command line; return its exit status.

    0 where nothing is broken, 1 where something is, 2 for wrong usage.
    """
    paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "opwright.gate.command", *words]
    status = subprocess.run(command, env=environment, check=False).returncode
    return status if status in _TOLD else 2
