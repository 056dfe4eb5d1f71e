"""The command `opwright gate`, in the process of the runtime. Exit status: 0 nothing is broken, 1 something is, 2 wrong
usage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

from opwright.gate.candidates import NAMESPACE, loading_line
from opwright.gate.properties import PROPERTIES
from opwright.gate.reports import FORMATS, write_report
from opwright.gate.run import Progress, gate

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = _parser()
    arguments = parser.parse_args(words)
    if arguments.properties_known:
        _list_properties(sys.stdout)
        return 0
    targets, modules = list(arguments.targets), list(arguments.modules)
    if bool(arguments.candidate) != bool(arguments.against):
        parser.error("--candidate FILE.py and --against SCHEMA go together")
    if arguments.candidate:
        file = str(Path(arguments.candidate).resolve())
        modules.append(loading_line(file, arguments.against, arguments.reference, arguments.meta))
        targets = targets or [NAMESPACE]
    if not targets:
        parser.error("name what to judge: NAMESPACE, NAMESPACE::NAME, torch:NAMESPACE")
    try:
        report = gate(
            targets,
            properties=arguments.properties or None,
            jobs=arguments.jobs,
            timeout=arguments.timeout,
            seed=arguments.seed,
            report=None if arguments.quiet else _progress(sys.stderr),
            modules=modules,
        )
    except ValueError as error:
        print(f"opwright gate: {error}", file=sys.stderr)
        return 2
    finally:
        if not arguments.quiet and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
    opened: Any = open(arguments.output, "w", encoding="utf-8") if arguments.output else nullcontext(sys.stdout)  # noqa: SIM115
    with opened as stream:
        write_report(report, arguments.format, stream)
    return 1 if report.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="opwright gate", description="Judge operators by their declarations.")
    add = parser.add_argument
    add("targets", nargs="*", metavar="TARGET", help="NAMESPACE, NAMESPACE::NAME, torch:NAMESPACE")
    add(
        "--load",
        action="append",
        default=[],
        dest="modules",
        metavar="MODULE",
        help="import it first: a name or FILE.py",
    )
    add("--candidate", metavar="FILE.py", help="one function, judged as an operator of --against")
    add("--against", metavar="SCHEMA", help="its declaration, or the name of an operator that it is to be like")
    add("--reference", default="", metavar="MODULE:FUNCTION", help="what the candidate computes, in NumPy")
    add("--meta", default="", metavar="FORMULA", help="what the candidate's results look like, as in schema files")
    add("--property", action="append", default=[], dest="properties", metavar="NAME", help="ask this alone; repeatable")
    add("--properties", action="store_true", dest="properties_known", help="list the properties")
    add("-j", "--jobs", type=int, metavar="N", help="operators at a time; else one for each core")
    add("--timeout", type=float, default=20.0, metavar="S", help="seconds that one call may last")
    add("--seed", type=int, default=0, metavar="S", help="what drawn arguments begin with")
    add("--format", choices=FORMATS, default=FORMATS[0], help="of the report")
    add("-o", "--output", metavar="FILE", help="write the report there")
    add("-q", "--quiet", action="store_true", help="no line of progress")
    return parser


def _progress(stream: TextIO) -> Any:
    """Return what shows a line of progress, or a line now and then where nobody sees it move."""
    step = 1 if stream.isatty() else 25

    def show(at: Progress) -> None:
        if at.done % step == 0 or at.done == at.total:
            start, end = ("\r\x1b[K", "") if stream.isatty() else ("", "\n")
            stream.write(f"{start}{at.done} of {at.total}, {at.findings} findings: {at.operator}{end}")
            stream.flush()

    return show


def _list_properties(stream: TextIO) -> None:
    for each in PROPERTIES:
        stream.write(f"{each.name:26}{each.group:14}{each.title}\n")


if __name__ == "__main__":
    sys.exit(main())
