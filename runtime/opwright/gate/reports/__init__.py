"""Reports of the gate: `write_report`, by the name of a format."""

from __future__ import annotations

from typing import TextIO

from opwright.gate.verdicts import Report

__all__ = ["FORMATS", "write_report"]

FORMATS = ("text", "json")


def write_report(report: Report, format: str, stream: TextIO) -> None:
    """Write a report to a stream. Raises ValueError for a format that is not one of FORMATS."""
    match format:
        case "json":
            stream.write(report.to_json() + "\n")
        case "text":
            _write_lines(report, stream)
        case _:
            raise ValueError(f"no format {format!r}: there are {', '.join(FORMATS)}")


def _write_lines(report: Report, stream: TextIO) -> None:
    for each in report.findings:
        stream.write(f"{each.operator} {each.property} {each.cause}: {each.why}\n")
        stream.write("".join(f"    {line}\n" for line in each.program.splitlines()))
    counts = report.counts
    stream.write(
        f"{len(report.by_operator)} operators: {counts['held']} held, {counts['broken']} broken, "
        f"{counts['undecided']} undecided, {report.seconds:.1f} s\n"
    )
