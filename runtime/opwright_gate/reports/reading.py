"""A report read from a file that anybody may have written: what is no report is refused, with the reason."""

from __future__ import annotations

import math
from typing import Final

from opwright_gate.verdicts import Report, Verdict

__all__ = ["read_report"]

_TEXTS: Final = ("operator", "property", "verdict", "backend", "cause", "why", "call", "program")
_LARGEST: Final = 256 << 20


def read_report(path: str) -> Report:
    """Return the report of a file. Raises ValueError for what is none, OSError for what cannot be read."""
    with open(path, "rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"no report of `opwright gate`: it is larger than {_LARGEST >> 20} MB")
    try:
        report = Report.from_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("no report of `opwright gate`: it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("no report of `opwright gate`: it nests too deep") from None
    wrong = _wrong_field(report)
    if wrong:
        raise ValueError(f"no report of `opwright gate`: {wrong} is of another type")
    return report


def _wrong_field(report: Report) -> str:
    if not isinstance(report.target, str):
        return "target"
    if not _is_number(report.seconds):
        return "seconds"
    if type(report.seed) is not int:
        return "seed"
    if not isinstance(report.versions, dict) or not all(isinstance(each, str) for each in report.versions.values()):
        return "versions"
    if not isinstance(report.refusals, dict) or not all(map(_is_number, report.refusals.values())):
        return "refusals"
    return next(filter(None, map(_wrong_of_verdict, report.verdicts)), "")


def _wrong_of_verdict(verdict: Verdict) -> str:
    wrong = next((name for name in _TEXTS if not isinstance(getattr(verdict, name), str)), "")
    if not wrong and not _is_number(verdict.seconds):
        wrong = "seconds"
    if not wrong and type(verdict.samples) is not int:
        wrong = "samples"
    if not wrong and not all(isinstance(each, str) for each in verdict.dtypes):
        wrong = "dtypes"
    return f"{wrong} of a verdict" if wrong else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
