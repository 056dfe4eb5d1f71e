"""The program that the command line starts with a package of mutants: it is told which they are, as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from opwright.names.optional_packages import ExtraMissing
from opwright_gate.loading import load_modules
from opwright_gate.meanings import torch_line
from opwright_gate.mutants.outcomes import Measure, Mutant, percent
from opwright_gate.mutants.results import report_of, write_measure
from opwright_gate.mutants.running import Compare, measure
from opwright_gate.reports import check_format
from opwright_gate.reports.finish import Wanted, finish
from opwright_gate.reports.progress import ProgressLine

__all__ = ["main"]


def main(given: str) -> int:
    """Run mutants, and show what came of them; the status: 1 where less than `fail_under` percent were noticed."""
    order = json.loads(given)
    mutants = [Mutant(**each) for each in order["mutants"]]
    try:
        check_format(order["wanted"]["format"])
        order["modules"] = [*([torch_line()] if order["reference"] else []), *order["modules"]]
        with ProgressLine(sys.stderr, len(mutants)) as line:
            found = measure(
                mutants,
                order["refused"],
                _compare(order, line),
                target=order["target"],
                modules=order["modules"],
                seed=order["seed"],
                jobs=order["jobs"],
                report=line,
            )
        return _show(found, order["wanted"])
    except (ValueError, ExtraMissing) as error:
        print(f"opwright: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"opwright: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 2


def _compare(order: dict[str, Any], line: ProgressLine) -> Compare:
    """Return the comparison of controls and mutants, which loads them when it is asked."""

    def compare(pairs: Sequence[tuple[Mutant, Mutant]]) -> list[bool]:
        from opwright_gate.mutants.sameness import same_pairs

        if not pairs:
            return []
        load_modules(order["modules"])
        names = [(control.name, mutant.name, mutant.where) for control, mutant in pairs]
        total = len(pairs)
        return same_pairs(
            names, order["seed"], order["jobs"] or os.cpu_count() or 1, lambda done: line.show("the same?", done, total)
        )

    return compare


def _show(found: Measure, given: dict[str, Any]) -> int:
    wanted = Wanted.of(given)
    if wanted.format != "text":
        finish(report_of(found), Wanted(wanted.format, wanted.output), sys.stdout, findings_fail=False)
    elif wanted.output is None:
        write_measure(found, sys.stdout)
    else:
        with open(wanted.output, "w", encoding="utf-8", errors="replace") as file:
            write_measure(found, file)
    sys.stdout.flush()
    share = percent(found.counts)
    if wanted.fail_under is not None and share is not None and share < wanted.fail_under:
        print(f"{share:.1f} % of the changes are noticed: less than {wanted.fail_under:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin.read()))
