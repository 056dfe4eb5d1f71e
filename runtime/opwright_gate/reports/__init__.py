"""Reports of the gate, by the name of a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from opwright.names.optional_packages import require
from opwright_gate.verdicts import Report

if TYPE_CHECKING:
    from opwright_gate.reports.baseline import KnownFinding

__all__ = ["FORMATS", "check_format", "write_report"]

FORMATS: Final = ("text", "json", "junit", "sarif", "github", "html")


def check_format(format: str) -> None:
    """Raise ExtraMissing if a report of this format needs a package that is not installed."""
    if format == "text":
        require("rich")
    if format == "github":
        require("opwright_codegen")


def write_report(
    report: Report,
    format: str,
    stream: TextIO,
    *,
    known: Sequence[KnownFinding] = (),
    today: str = "",
    places: Mapping[str, tuple[str, int]] | None = None,
) -> None:
    """Write a report to a stream. Raises ValueError for a format that is not one of FORMATS.

    `known` are findings of a baseline. Findings can expire before `today`. `places` has the file and line of each
    operator's declaration.
    """
    from opwright_gate.reports.baseline import Standing

    standing = Standing(report, tuple(known), today)
    match format:
        case "text":
            from opwright_gate.reports.terminal import write_text

            write_text(standing, stream)
        case "json":
            stream.write(report.to_json() + "\n")
        case "junit":
            from opwright_gate.reports.junit import write_junit

            write_junit(standing, stream)
        case "sarif":
            from opwright_gate.reports.sarif import write_sarif

            write_sarif(standing, places or {}, stream)
        case "github":
            from opwright_gate.reports.github import write_commands

            write_commands(standing, places or {}, stream)
        case "html":
            from opwright_gate.reports.page import write_page

            write_page(standing, stream)
        case _:
            raise ValueError(f"no format {format!r}: there are {', '.join(FORMATS)}")
