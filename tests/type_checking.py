"""What mypy learnt of Opwright and of NumPy, kept for the next program that a test shows it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["mypy_cache"]


def mypy_cache() -> str:
    """The option that names a folder of this worker's own: processes of mypy would wait for each other."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    return f"--cache-dir={Path(__file__).parents[1] / 'build' / 'tests' / f'mypy-{worker}'}"
