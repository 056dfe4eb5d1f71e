"""A report with all that reports may have, texts of strangers among it, for the tests of each format."""

from __future__ import annotations

from opwright_gate.reports.baseline import KnownFinding
from opwright_gate.verdicts import Answer, Report, Verdict

TODAY = "2026-11-27"
HOSTILE = "</script><script>alert('1')</script> & \"x\" ]]> \x1b[31m\x07\x00 \ud800 [red]no[/red] ::error::x\r\n%0A"
PROGRAM = "import opwright\n\nx = opwright.ones(3)\nassert x.sum() < 3, '</pre><script>'\n"
_ASKED = ("schema-writes", "fake-results", "gradients")


def _verdict(operator: str, asked: str, answer: Answer, **more: str) -> Verdict:
    return Verdict(operator, asked, answer, seconds=0.25, samples=3, dtypes=("float64", "int64"), **more)


def report() -> Report:
    """Three operators that hold, one with findings of which one is known, one of a stranger's making."""
    verdicts = [_verdict(f"demo::good_{index}", asked, "held") for index in range(3) for asked in _ASKED]
    wrong = {"why": "x is written to, and the declaration has no (a!) there.", "call": "x: float32 (3,)"}
    verdicts += [
        _verdict("demo::scale", "schema-writes", "broken", cause="undeclared-write", program=PROGRAM, **wrong),
        _verdict("demo::scale", "fake-results", "broken", cause="shape", why="another shape"),
        _verdict("demo::scale", "gradients", "undecided", why="there is no formula"),
        _verdict("demo::odd", "schema-writes", "broken", cause=HOSTILE, why=HOSTILE, call=HOSTILE, program=HOSTILE),
        _verdict("demo::odd", "fake-results", "undecided", why=HOSTILE),
        Verdict("demo::scale", "schema-writes", "held", backend="CUDA"),
    ]
    versions = {"opwright": "0.1.0", "numpy": "2.0"}
    return Report(tuple(verdicts), f"demo {HOSTILE}", 1.5, 7, versions, {"demo::scale": 4})


KNOWN = (
    KnownFinding("demo::scale", "fake-results", "the next release", "2026-11-01", place="gate-baseline.yaml:3"),
    KnownFinding("demo::good_0", "gradients", "was wrong", "2026-11-01", place="gate-baseline.yaml:8"),
    KnownFinding(
        "demo::scale", "schema-writes", "soon", "2026-11-01", until="2026-11-20", place="gate-baseline.yaml:12"
    ),
)
PLACES = {"demo::scale": ("schemas/my, ops: 1.yaml", 12), "demo::odd": ("/elsewhere/ops.yaml", 3)}
