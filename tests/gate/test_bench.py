"""`opwright bench`: calls that are grown, what is possible, the table, JSON and the picture; the page of rules."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from opwright_gate import sharding_table
from opwright_gate.bench import command
from opwright_gate.bench.machine import Machine
from opwright_gate.sharding_table import rows_of
from opwright_gate.subjects import subjects_of

pytestmark = pytest.mark.once
MACHINE = Machine({1 << 16: 1e10, 1 << 27: 1e9}, 1e11, 5e10)


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "machine", lambda: MACHINE)


def bench(*words: str) -> str:
    out = io.StringIO()
    assert command.main([*words, "--seconds", "0.001", "--elements", "4000"], out) == 0
    return out.getvalue()


def test_calls_are_grown_and_compared_with_what_is_possible(tmp_path: Path) -> None:
    picture = tmp_path / "roofline.svg"
    said = json.loads(bench("aten::mul.Tensor", "aten::dot", "aten::t", "--json", "--picture", str(picture)))
    found = {each["operator"]: each for each in said["calls"]}
    product = found["aten::mul.Tensor"]
    assert product["cost"]["flops"] >= 4000 and product["cost"]["written"] == 4 * product["cost"]["flops"]
    assert product["limit"] == "memory" and product["best_seconds"] == 3 * product["cost"]["written"] / 1e10
    assert 0 < product["share"] == product["best_seconds"] / product["seconds"]
    assert found["aten::t"]["cost"]["source"] == "view"
    root = ElementTree.parse(picture).getroot()
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 2 and titles[0].startswith("aten::mul.Tensor(float32[")


def test_sizes_may_be_said_and_wrong_targets_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    table = bench("aten::mm", "--sizes", "6x4,4x5")
    assert "float32[6, 4], float32[4, 5]" in table and "100 Gflop/s (float32)" in table
    for words in (["aten::nothing"], [], ["aten::mm", "--dtype", "float33"], ["aten::mm", "--sizes", "6xa"]):
        assert command.main(words) == 2, words
    assert "opwright bench: name a namespace" in capsys.readouterr().err


def test_what_is_possible() -> None:
    assert MACHINE.best(1e6, 0, 4) == 1e-5 and MACHINE.best(1e6, 0, 8) == 2e-5
    assert MACHINE.best(0, 1 << 15, 4) == (1 << 15) / 1e10 and MACHINE.best(0, 1 << 30, 4) == (1 << 30) / 1e9


def test_the_page_has_the_rules_of_functional_operators() -> None:
    """A line for each that is named: its rule, or the reason why nothing is cut. Writes have none of their own."""
    functional = [each for each in subjects_of("aten") if "!" not in each.operator.declaration][:400:50]
    out = io.StringIO()
    names = [each.name for each in functional]
    assert sharding_table.main([*names, "aten::add_.Tensor", "--table-only", "--markdown"], out) == 0
    page = out.getvalue()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in lines] == names
    for line, row in zip(lines, rows_of(functional, checks=False), strict=True):
        assert line.endswith(f" | `{row.rule}` |" if any(row.counts[:3]) else f" | {row.reason} |")
        assert row.rule or row.reason
    assert f"\n{len(names)} operators: " in page
