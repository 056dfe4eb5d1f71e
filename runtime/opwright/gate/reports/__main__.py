"""A report that was kept, shown again: the program of `opwright coverage`, which hands over its wishes as JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from opwright.gate.reports.finish import Wanted, finish
from opwright.gate.reports.reading import read_report

__all__ = ["main"]


def main(given: str) -> int:
    """Show the report of a file; the status."""
    wishes = json.loads(given)
    path = wishes.pop("report")
    try:
        report = read_report(path)
    except OSError as error:
        print(f"opwright: {path}: {error.strerror}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"opwright: {path}: {error}", file=sys.stderr)
        return 2
    wanted = Wanted.of(wishes)
    for module in wanted.modules:
        import_module(module)  # which says where its operators are declared
    try:
        status = finish(report, wanted, sys.stdout, findings_fail=False)
        sys.stdout.flush()
    except OSError as error:
        print(f"opwright: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.stdin.read()))
