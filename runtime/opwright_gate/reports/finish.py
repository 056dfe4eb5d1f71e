"""The end of a run: write the report, keep it for `opwright coverage`, compare it with a threshold."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TextIO

from opwright_gate.reports import write_report
from opwright_gate.reports.baseline import KnownFinding, Standing, baseline_text
from opwright_gate.reports.places import places_elsewhere
from opwright_gate.verdicts import Report

__all__ = ["Wanted", "finish", "keep"]

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Reports that `opwright gate` keeps for `opwright coverage`.\n"


@dataclass(frozen=True)
class Wanted:
    """The options of a command line: output files, known findings and the threshold.

    `baseline` is the file that gets all findings. `modules` are imported to find the places of operators.
    """

    format: str = "text"
    output: str | None = None
    baseline: str | None = None
    fail_under: float | None = None
    known: tuple[KnownFinding, ...] = ()
    modules: tuple[str, ...] = ()
    today: str = field(default_factory=lambda: date.today().isoformat())

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wanted:
        """Return the wishes that a command line hands over as JSON."""
        known = tuple(KnownFinding(**entry) for entry in given.get("known", ()))
        return cls(**{**given, "known": known, "modules": tuple(given.get("modules", ()))})


def finish(report: Report, wanted: Wanted, stream: TextIO, *, findings_fail: bool = True) -> int:
    """Write the report to its file or the stream, and the baseline. Return the exit status.

    The status is 1 if there are unknown findings (and `findings_fail`), or if less than `fail_under` percent of the
    decided verdicts held. Raises OSError for files that cannot be written.
    """
    standing = Standing(report, wanted.known, wanted.today)
    if wanted.baseline is not None:
        _write(wanted.baseline, baseline_text(standing))
    if wanted.output is None:
        _write_report(report, wanted, stream)
    else:
        with open(wanted.output, "w", encoding="utf-8", errors="replace") as file:
            _write_report(report, wanted, file)
    if wanted.fail_under is not None and standing.percent < wanted.fail_under:
        print(f"{standing.percent:.1f} % held of what was decided: less than {wanted.fail_under:g}", file=sys.stderr)
        return 1
    return int(findings_fail and wanted.baseline is None and bool(standing.findings))


def _write_report(report: Report, wanted: Wanted, stream: TextIO) -> None:
    is_placed = wanted.format in ("github", "sarif")
    places = places_elsewhere(report.by_operator, wanted.modules) if is_placed else {}
    write_report(report, wanted.format, stream, known=wanted.known, today=wanted.today, places=places)


def keep(report: Report, folder: str) -> None:
    """Keep a report in a cache folder, in place of the report before.

    The file is replaced in one step: another process reads the old report or the new one.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in {".gitignore": "*\n", "CACHEDIR.TAG": _TAG}.items():
        if not (place / name).exists():
            _write(str(place / name), text)
    new = place / f"gate.json.{os.getpid()}"
    _write(str(new), report.to_json() + "\n")
    os.replace(new, place / "gate.json")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
