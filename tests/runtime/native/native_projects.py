"""Projects with C kernels, built for tests as `opwright build` builds them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from python_copies import run_python

EXAMPLE = Path(__file__).parents[3] / "examples" / "native"
QUICK = str(Path(__file__).parents[2] / "quick_cc")  # CC where what an optimizer does to the loops is not the subject


def run_build(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "opwright_codegen.cli", "build", *options, cwd=folder, env=os.environ | environment)


def build(folder: Path, *options: str, **environment: str) -> str:
    done = run_build(folder, *options, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
