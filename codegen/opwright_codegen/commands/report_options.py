"""The options of commands that write reports of the gate, and the wishes that the runtime receives."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opwright_codegen.errors import SchemaError, UsageError

if TYPE_CHECKING:
    from opwright_codegen.commands.gate_baseline import Finding

__all__ = ["BASELINE", "FORMATS", "add_report_options", "cache_folder", "known_findings", "wishes_of"]

BASELINE: Final = "gate-baseline.yaml"

FORMATS: Final = ("text", "json", "junit", "sarif", "github", "html")  # as `opwright_gate.reports` has them
_CACHE: Final = ".opwright_cache"


def add_report_options(command: argparse.ArgumentParser, *, has_baseline: bool = True) -> None:
    """Add the options for the format, the output, the threshold and the baseline of a report."""
    command.add_argument("--format", choices=FORMATS, default="text", help="of the report; text is for terminals")
    command.add_argument("-o", "--output", metavar="FILE", help="write the report there")
    command.add_argument(
        "--fail-under", type=_percent, metavar="N", help="exit 1 if less than N percent held of what was decided"
    )
    if has_baseline:
        command.add_argument(
            "--baseline", metavar="FILE", help=f"findings that are known; else {BASELINE}, if it is there"
        )


def wishes_of(arguments: Namespace, known: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """Return the options as arguments of the runtime's `Wanted`."""
    return {
        "format": arguments.format,
        "output": arguments.output,
        "fail_under": arguments.fail_under,
        "known": known,
        "modules": list(arguments.modules),
    }


def cache_folder(root: Path) -> Path:
    """Return the folder of a project for its last report."""
    return root / _CACHE


def known_findings(given: str | None, root: Path, *, may_be_missing: bool = False) -> tuple[Finding, ...]:
    """Return the findings of the given baseline, or of the project's baseline if it exists.

    Raises UsageError for a file that cannot be read, SchemaErrors for one that is wrong.
    """
    path = Path(given) if given else root / BASELINE
    if not path.exists() and (may_be_missing or not given):
        return ()
    from opwright_codegen.commands.gate_baseline import read_baseline

    try:
        return read_baseline(path)
    except SchemaError as error:
        if error.code == "unreadable-file":
            raise UsageError(error.message) from None
        raise


def _percent(text: str) -> float:
    """Return a number from 0 to 100. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage: a number from 0 to 100")
    return number
