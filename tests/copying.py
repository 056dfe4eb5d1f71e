"""Copies of examples, for tests to work in: without what somebody who tried the examples has left there."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["EXAMPLES", "copy_example"]

EXAMPLES = Path(__file__).parents[1] / "examples"
# What the steps of READMEs and pages leave: generated packages, modules beside them, builds.
LEFT = ("*_ops", "*_ops_*.py", "*_demo", "build", "dist", "*.egg-info", "__pycache__", ".*")


def copy_example(name: str, folder: Path) -> Path:
    """Copy the example into `folder`, which must not be there yet; the folder."""
    return Path(shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns(*LEFT)))
