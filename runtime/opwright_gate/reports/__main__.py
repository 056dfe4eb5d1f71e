"""A report that was kept, shown again: the program of `opwright coverage`, which hands over its wishes as JSON."""

from __future__ import annotations

import json
import sys

from opwright.names.optional_packages import ExtraMissing
from opwright_gate.loading import load_modules
from opwright_gate.reports import check_format
from opwright_gate.reports.finish import Wanted, finish
from opwright_gate.reports.reading import read_report

__all__ = ["main"]


def main(given: str) -> int:
    """Show the report of a file; the status."""
    wishes = json.loads(given)
    path = wishes.pop("report")
    try:
        check_format(wishes["format"])
        report = read_report(path)
    except OSError as error:
        print(f"opwright: {path}: {error.strerror}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"opwright: {path}: {error}", file=sys.stderr)
        return 2
    except ExtraMissing as error:
        print(f"opwright: {error}", file=sys.stderr)
        return 2
    wanted = Wanted.of(wishes)
    try:
        load_modules(wanted.modules)  # which say where their operators are declared
    except Exception as error:
        print(f"opwright: {', '.join(wanted.modules)}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    try:
        status = finish(report, wanted, sys.stdout, findings_fail=False)
        sys.stdout.flush()
    except OSError as error:
        print(f"opwright: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.stdin.read()))
