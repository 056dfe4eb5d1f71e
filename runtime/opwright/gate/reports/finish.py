"""The end of a run: the report written where it is wanted, kept for `opwright coverage`, and held to a threshold."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TextIO

from opwright.gate.reports import write_report
from opwright.gate.reports.badge import badge
from opwright.gate.reports.baseline import KnownFinding, Standing, baseline_text
from opwright.gate.reports.places import places_elsewhere
from opwright.gate.verdicts import Report

__all__ = ["Wanted", "finish", "keep"]

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Reports that `opwright gate` keeps for `opwright coverage`.\n"


@dataclass(frozen=True)
class Wanted:
    """The wishes of a command line: what is written where, what is known, and what is too little.

    `baseline` is written with all findings; `modules` are imported by processes that draw curves.
    """

    format: str = "text"
    output: str | None = None
    badge: str | None = None
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
    """Write what is wanted, the report itself to the stream unless it goes to a file.

    The status: 1 for findings that are not known (unless they may be there), or less than `fail_under` percent that
    held of what was decided; else 0. Raises OSError for files that cannot be written.
    """
    standing = Standing(report, wanted.known, wanted.today)
    if wanted.baseline is not None:
        _write(wanted.baseline, baseline_text(standing))
    if wanted.badge is not None:
        _write(wanted.badge, badge(standing))
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
    curves: Sequence[Any] = ()
    if wanted.format == "html":
        from opwright.gate.reports.page.curves import curves_elsewhere

        curves = curves_elsewhere(_sound(report), wanted.modules)
    is_placed = wanted.format in ("github", "sarif")
    places = places_elsewhere(report.by_operator, wanted.modules) if is_placed else {}
    write_report(report, wanted.format, stream, known=wanted.known, today=wanted.today, places=places, curves=curves)


def _sound(report: Report) -> list[str]:
    """Return the operators without a finding, on the CPU: those that are called for curves."""
    return [
        name
        for name, verdicts in report.by_operator.items()
        if all(each.verdict != "broken" and each.backend == "CPU" for each in verdicts)
    ]


def keep(report: Report, folder: str) -> None:
    """Keep a report in a folder, the last of several, that tools know as a cache and leave alone.

    It is moved into its place, so that who reads it meanwhile reads the one before.
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
