"""`opwright bench`: the time of operators, beside what the machine can do. Exit status: 0 done, 2 for wrong usage."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from opwright.cost.model import shown
from opwright_core.arrays import dtypes
from opwright_gate.bench.calls import call_for
from opwright_gate.bench.machine import Machine, machine
from opwright_gate.bench.picture import roofline
from opwright_gate.bench.timing import Timed, timed
from opwright_gate.loading import load_modules
from opwright_gate.subjects import Subject, subjects_of

__all__ = ["main"]

_HEAD = ("operator", "arrays", "time", "flop/s", "B/s", "at best", "share", "limit", "cost by")


def main(words: Sequence[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Print the time of the operators that the words name; return the exit status."""
    arguments = _parser().parse_args(words)
    try:
        load_modules(arguments.modules)
        if not (targets := arguments.targets or arguments.project):
            raise ValueError("name a namespace, or the project's schemas in [tool.opwright]")
        subjects = [each for target in targets for each in subjects_of(target)]
        shapes = [tuple(map(int, each.split("x"))) for each in arguments.sizes.split(",") if each]
        dtype = getattr(dtypes, arguments.dtype)
    except (ValueError, AttributeError) as error:
        print(f"opwright bench: {error}", file=sys.stderr)
        return 2
    limits = machine()
    rows, left_out = [], []
    for subject in subjects:
        if not subject.operator.signature.written:
            row = _row(subject, dtype, arguments.elements, shapes, limits, arguments.seconds)
            rows.append(row) if row is not None else left_out.append(subject.name)
    if arguments.picture:
        Path(arguments.picture).write_text(roofline(rows, limits), encoding="utf-8")
    if arguments.json:
        print(json.dumps(_told(rows, limits, left_out), indent=1), file=out)
    else:
        _print(rows, limits, left_out, out)
    return 0


def _row(
    subject: Subject, dtype: Any, elements: int, shapes: Sequence[tuple[int, ...]], limits: Machine, budget: float
) -> Timed | None:
    case = call_for(subject, dtype, elements, shapes)
    return None if case is None else timed(subject, case, limits, budget)


def _told(rows: Sequence[Timed], limits: Machine, left_out: Sequence[str]) -> dict[str, Any]:
    """Return what `--json` prints."""
    calls = [
        {
            "operator": each.operator, "arrays": each.arguments, "seconds": each.seconds, "cost": asdict(each.cost),
            "best_seconds": each.best, "share": each.share, "limit": each.bound,
        }
        for each in rows
    ]  # fmt: skip
    machine = {"bytes_per_second": limits.bandwidth, "float32": limits.single, "float64": limits.double}
    return {"machine": machine, "calls": calls, "left_out": list(left_out)}


def _print(rows: Sequence[Timed], limits: Machine, left_out: Sequence[str], out: TextIO) -> None:
    lines = [_HEAD, *[_cells(each) for each in rows]]
    widths = [max(len(line[n]) for line in lines) for n in range(len(_HEAD))]
    for line in lines:
        cells = [f"{cell:{'<' if n in (0, 1, 7, 8) else '>'}{widths[n]}}" for n, cell in enumerate(line)]
        print("  ".join(cells).rstrip(), file=out)
    single, double = (shown(each).strip() for each in (limits.single, limits.double))
    rates = f"{single}flop/s (float32) and {double}flop/s (float64) by a product of matrices"
    print(f"this machine: {shown(limits.bandwidth)}B/s by a stream in memory, {rates}", file=out)
    if left_out:
        print(f"left out, since no call was found or it needs values: {', '.join(left_out)}", file=out)


def _cells(row: Timed) -> tuple[str, ...]:
    rates = (row.operations / row.seconds, row.cost.bytes / row.seconds)
    return (
        row.operator, row.arguments, _time(row.seconds), *[shown(rate).strip() for rate in rates],
        _time(row.best), f"{row.share:.0%}", row.bound, row.cost.source,
    )  # fmt: skip


def _time(seconds: float) -> str:
    unit, size = next((each for each in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= each[1]), ("ns", 1e-9))
    return f"{seconds / size:.3g} {unit}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opwright bench", description="Time operators beside what the machine can do."
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="namespaces, operators; else a project's")
    parser.add_argument("--project", action="append", default=[], help=argparse.SUPPRESS)  # what the command line adds
    parser.add_argument("--load", action="append", default=[], dest="modules", metavar="MODULE")
    parser.add_argument("--elements", type=int, default=1 << 20, metavar="N", help="of the largest array; else 1048576")
    parser.add_argument("--sizes", default="", metavar="AxB,…", help="the shapes of arrays, in order: 512x512,512x512")
    parser.add_argument("--dtype", default="float32", metavar="NAME", help="where it is taken; else float32")
    parser.add_argument("--seconds", type=float, default=0.1, metavar="S", help="to time a call; else 0.1")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--picture", metavar="FILE.svg", help="write the roofline")
    return parser


if __name__ == "__main__":
    sys.exit(main())
