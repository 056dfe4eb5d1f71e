"""mypy as the repository runs it: what `make check` let it learn of Opwright and of NumPy serves for other programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["mypy"]

_ROOT = Path(__file__).parents[1]


def mypy(program: Path, *options: str, path: str = "") -> str:
    """What mypy says of a program that stands outside the clone, all that it imports left aside; modules beside it are
    found, and those of `path`."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--follow-imports=silent", *options]
    folders = os.pathsep.join(filter(None, [str(program.parent), path]))
    environment = os.environ | {"MYPYPATH": folders}
    done = subprocess.run(
        [*command, str(program)], cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout
