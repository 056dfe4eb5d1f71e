"""The beginning of the command: an interrupt while modules are still being imported shows no traceback either."""

from __future__ import annotations

__all__ = ["main"]


def main() -> int:
    """Run the command line; the exit status."""
    try:
        from opwright_codegen.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130
