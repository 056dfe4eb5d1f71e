"""Projects with C kernels, built for tests as `opwright build` builds them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "native"


def run_build(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opwright_codegen.cli", "build", *options]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def build(folder: Path, *options: str, **environment: str) -> str:
    done = run_build(folder, *options, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
