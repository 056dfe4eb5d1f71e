"""The process that collects facts of operators.

Standard input names the operators as JSON. For each operator, standard output gets a line with its name before the
first call, then a line of JSON. Lines start with `\\0`, because operators may print.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import opwright
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.registry.tables import registry
from opwright_gate.loading import load_modules
from opwright_gate.reports.reading import read_report
from opwright_gate.showing.facts import calls_of, facts_of
from opwright_gate.subjects import names_of
from opwright_gate.verdicts import Report

__all__ = ["main", "operators_of"]

_LONGEST: Final = 200  # characters of the target
_MOST_MEMORY: Final = 4 << 30  # bytes of address space


def operators_of(target: str) -> list[str]:
    """Return the names of the operators of a namespace or package. A package is imported."""
    if target == "aten":
        _ = opwright.ops.aten  # loads it
    if names := names_of(target):
        return names
    try:
        importlib.import_module(target)
    except ModuleNotFoundError:
        return []
    homes = {name: find_operator(name).home for name in registry.operators}
    return [name for name, home in homes.items() if home is not None and f"{home.module}.".startswith(f"{target}.")]


def main() -> int:
    """Print the facts. Return 2 if modules or the report cannot be read; the last line of stderr has the reason."""
    given = json.load(sys.stdin)
    _limit_memory()
    try:
        load_modules(given["modules"])
        report = read_report(given["report"]) if given["report"] else None
    except (ImportError, ValueError, OSError) as error:
        print(f"{given['report']}: {error}" if isinstance(error, ValueError) else f"{error}", file=sys.stderr)
        return 2
    for line in _lines(given, report):
        print(f"\n\0{json.dumps(line)}", flush=True)
    return 0


def _limit_memory() -> None:
    """Set a limit for the memory of this process, which calls operators with random arguments."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    except (ImportError, OSError, ValueError):
        pass  # a system without limits


def _lines(given: Mapping[str, Any], report: Report | None) -> Iterator[dict[str, Any]]:
    if given["names"]:
        names = given["names"]
    else:
        names = [name for target in given["targets"] for name in operators_of(target)]
        yield {"names": names}
    verdicts = {} if report is None else report.by_operator
    run = "" if report is None else _run_of(report)
    for name in names:
        yield {"begin": name}
        facts = facts_of(name, verdicts.get(name, ()), run)
        if given["calls"] and (not facts["writes"] or facts["functional"] == name):
            facts |= calls_of(name)
        yield facts


def _run_of(report: Report) -> str:
    """Return a summary of the run of a report."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    counts = report.counts
    return (
        f"`opwright gate {' '.join(report.target.split())[:_LONGEST]}` with {versions}: {len(report.by_operator):,} "
        f"operators, {counts['held']:,} answers held, {counts['broken']:,} broken, {counts['undecided']:,} not decided"
    )


if __name__ == "__main__":
    sys.exit(main())
