"""The command `opwright gate`, in the process of the runtime.

Exit status: 0 without findings, 1 with findings, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO

from opwright.names.optional_packages import ExtraMissing
from opwright_gate.candidates import NAMESPACE, loading_line
from opwright_gate.meanings import torch_line
from opwright_gate.properties import PROPERTIES
from opwright_gate.reports import FORMATS, check_format
from opwright_gate.reports.baseline import known_from_json
from opwright_gate.reports.finish import Wanted, finish, keep
from opwright_gate.reports.progress import ProgressLine
from opwright_gate.run import Progress, gate

__all__ = ["main", "make_parser"]

_REFERENCE: Final = "PyTorch's operator of the same name says what is meant; of a candidate: this function of NumPy"
_NOTHING: Final[dict[str, Any]] = {"known": [], "baseline": None, "cache": None}  # handed over
_KILLED: Final = 143  # exit status
_STEP: Final = 25  # operators, between lines of progress that nobody sees move


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = make_parser()
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
    if bool(arguments.candidate) == (arguments.reference == "torch") and arguments.reference:
        parser.error("--reference is MODULE:FUNCTION of a candidate, and torch of operators that PyTorch has, too")
    if not targets:
        parser.error("name what to judge: NAMESPACE, NAMESPACE::NAME, torch:NAMESPACE")
    handed = _handed() if arguments.handed else _NOTHING
    try:
        check_format(arguments.format)
        if arguments.reference == "torch":
            modules.append(torch_line())
        with _progress(sys.stderr, arguments.quiet) as progress:
            report = gate(
                targets,
                properties=arguments.properties or None,
                jobs=arguments.jobs,
                timeout=arguments.timeout,
                seed=arguments.seed,
                report=progress,
                modules=modules,
            )
        if handed["cache"] is not None:
            with suppress(OSError):  # a folder that nobody may write to
                keep(report, handed["cache"])
        wanted = Wanted(
            arguments.format,
            arguments.output,
            handed["baseline"],
            arguments.fail_under,
            known_from_json(json.dumps(handed["known"])),
            tuple(modules),
        )
        status = finish(report, wanted, sys.stdout)
        sys.stdout.flush()
    except (ValueError, ExtraMissing) as error:
        print(f"opwright gate: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"opwright gate: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 2
    return status


def _handed() -> dict[str, Any]:
    """Return known findings, baseline file and cache folder, which standard input has as JSON.

    This process ends when the pipe closes, because the command was killed.
    """
    found: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with, args=(sys.stdin.buffer.fileno(),), daemon=True).start()
    return found


def _end_with(pipe: int) -> None:
    while os.read(pipe, 1 << 10):
        pass
    os._exit(_KILLED)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
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
    add("--reference", default="", metavar="torch|MODULE:FUNCTION", help=_REFERENCE)
    add("--meta", default="", metavar="FORMULA", help="what the candidate's results look like, as in schema files")
    add("--property", action="append", default=[], dest="properties", metavar="NAME", help="ask this alone; repeatable")
    add("--properties", action="store_true", dest="properties_known", help="list the properties")
    add("-j", "--jobs", type=int, metavar="N", help="operators at a time; else one for each core")
    add("--timeout", type=float, default=20.0, metavar="S", help="seconds that one call may last")
    add("--seed", type=int, default=0, metavar="S", help="what drawn arguments begin with")
    add("--format", choices=FORMATS, default=FORMATS[0], help="of the report")
    add("-o", "--output", metavar="FILE", help="write the report there")
    add("--fail-under", type=_percent, metavar="N", help="exit 1 if less than N percent held of what was decided")
    add("--baseline", metavar="FILE", help="findings that are known; else gate-baseline.yaml, if it is there")
    add("--write-baseline", action="store_true", help="write all findings to the baseline, and exit 0")
    add("--mutate", action="store_true", help="change declarations one by one: does a check notice? (--mutate --help)")
    add("--handed", action="store_true", help=argparse.SUPPRESS)
    add("-q", "--quiet", action="store_true", help="no line of progress")
    return parser


@contextmanager
def _progress(stream: TextIO, is_quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a progress reporter: a moving line in terminals, a new line now and then elsewhere."""
    if is_quiet or not stream.isatty():
        yield None if is_quiet else _now_and_then
        return
    with ProgressLine(stream) as line:
        yield line


def _now_and_then(at: Progress) -> None:
    if at.done % _STEP == 0 or at.done == at.total:
        print(f"{at.done} of {at.total}, {at.findings} findings: {at.operator}", file=sys.stderr, flush=True)


def _percent(text: str) -> float:
    """Return a number from 0 to 100. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage: a number from 0 to 100")
    return number


def _list_properties(stream: TextIO) -> None:
    for each in PROPERTIES:
        stream.write(f"{each.name:26}{each.group:14}{each.title}\n")


if __name__ == "__main__":
    sys.exit(main())
