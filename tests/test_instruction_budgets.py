"""Budgets of instructions: how counts are read and compared. Continuous integration counts (`.ci/run`)."""

from __future__ import annotations

import pytest

from benchmarks import instructions
from benchmarks.instructions import compare, per_call, total

pytestmark = pytest.mark.once  # it starts no calls

# Counted by callgrind 3.19 with CPython 3.13 and NumPy 2.5.
RECORDED = {"np.add": 4394.0, "add": 2381.0, "view: t()": 3312.0}
# With CPython 3.11: other counts of the same code.
ELSEWHERE = {"np.add": 3995.0, "add": 2195.0, "view: t()": 2872.0}


def verdicts(counts: dict[str, float], own: dict[str, float] | None = RECORDED) -> dict[str, str]:
    return {figure.work: figure.verdict for figure in compare(counts, own, RECORDED)}


def test_a_call_may_take_three_percent_more_than_was_recorded() -> None:
    assert verdicts(RECORDED) == {"np.add": "", "add": "holds", "view: t()": "holds"}
    assert verdicts(RECORDED | {"add": 2381 * 1.029})["add"] == "holds"
    assert verdicts(RECORDED | {"add": 2381 * 1.031})["add"] == "misses"
    assert verdicts(RECORDED | {"add": 2000.0})["add"] == "holds"


def test_the_peer_and_calls_that_were_not_recorded_have_no_budget() -> None:
    assert verdicts(RECORDED | {"np.add": 9000.0, "new": 100.0})["np.add"] == ""
    assert verdicts(RECORDED | {"new": 100.0})["new"] == ""


def test_another_build_is_compared_by_its_ratios_to_numpy() -> None:
    assert set(verdicts(ELSEWHERE, None).values()) == {"", "holds"}
    assert verdicts(ELSEWHERE | {"add": 30_000.0}, None)["add"] == "misses"  # the Python handles the call
    figure = next(each for each in compare(ELSEWHERE, None, RECORDED) if each.work == "add")
    assert figure.value == pytest.approx((2195 / 3995) / (2381 / 4394))


def test_a_count_is_the_difference_of_two_loops_less_an_empty_call() -> None:
    few, many = instructions.FEW, instructions.MANY
    totals = [9999, 500 + 352 * few, 500 + 352 * many, 9999, 800 + 4746 * few, 800 + 4746 * many]
    assert per_call(["nothing", "np.add"], totals) == {"np.add": 4394}
    assert total("desc: Trigger: --dump-before=sched_yield\nsummary: 7\n\ntotals: 8526668\n") == 8526668


def test_without_valgrind_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(instructions.figures()) == []
    assert capsys.readouterr().err == "instructions: not counted, since valgrind is not installed\n"
