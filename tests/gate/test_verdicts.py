"""Verdicts and reports, and their JSON."""

from __future__ import annotations

import pytest

from opwright_gate import Report, Verdict

HELD = Verdict("ns::f", "schema-writes", "held")
BROKEN = Verdict("ns::g", "schema-writes", "broken", cause="undeclared-write", why="it writes", program="f()")


def test_a_report_is_read_from_its_json() -> None:
    report = Report((HELD, BROKEN), "ns", 1.5, 3, {"numpy": "2"}, {"ns::g": 4})
    assert Report.from_json(report.to_json()) == report
    assert report.findings == (BROKEN,)
    assert report.by_operator == {"ns::f": (HELD,), "ns::g": (BROKEN,)}
    assert report.counts == {"held": 1, "broken": 1, "undecided": 0}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 0}', '{"format": 1}', '{"format": 1, "verdicts": [{}]}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="report"):
        Report.from_json(text)


def test_a_verdict_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="held, broken, undecided"):
        Verdict("ns::f", "p", "passed")  # type: ignore[arg-type]
