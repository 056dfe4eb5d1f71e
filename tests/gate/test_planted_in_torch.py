"""Planted faults in PyTorch's form are found and named by their cause; about sound operators nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeps import share

from opwright_gate.run import gate

pytestmark = pytest.mark.oracle
pytest.importorskip("torch")

PLANTED = Path(__file__).parent / "planted"


def test_planted_faults_in_torch_are_named_and_sound_operators_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))
    import faults_in_torch

    causes = {name: cause for name, (_, cause) in faults_in_torch.CAUSES.items()}
    tried = share(sorted(causes), 12, "planted in torch")
    report = gate(tried, modules=["faults_in_torch"], jobs=2)
    named = {(each.operator, each.cause) for each in report.findings}
    assert [name for name in tried if causes[name] and (name, causes[name]) not in named] == []
    assert [(each.operator, each.cause, each.why) for each in report.findings if not causes[each.operator]] == []
