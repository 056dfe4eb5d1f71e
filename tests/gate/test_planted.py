"""Planted faults are found and named by their cause; about sound operators nothing is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.gate import Report
from opwright.gate.run import gate

pytestmark = pytest.mark.once  # each process chooses its core

PLANTED = Path(__file__).parent / "planted"
MODULES = ["faults", "faults_of_values", "sound", *(["faults_in_c"] if shutil.which("cc") else [])]
_LIST = f"import {', '.join(MODULES)}, planting\nfor name, (kind, cause) in planting.CAUSES.items(): print(name, cause)"


def planted() -> dict[str, str]:
    """The cause of each planted operator, "" for a sound one."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLANTED), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", _LIST]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: cause for name, _, cause in (line.partition(" ") for line in run.stdout.splitlines())}


def judge(monkeypatch: pytest.MonkeyPatch) -> tuple[Report, dict[str, str]]:
    """The report on all, and their causes."""
    monkeypatch.syspath_prepend(str(PLANTED))
    causes = planted()
    return gate(sorted({name.partition("::")[0] for name in causes}), modules=MODULES, jobs=2), causes


def test_planted_faults_are_named_and_sound_operators_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    report, causes = judge(monkeypatch)
    found = {
        name: [each for each in verdicts if each.verdict == "broken"] for name, verdicts in report.by_operator.items()
    }
    unnamed = {name: cause for name, cause in causes.items() if cause and cause not in {v.cause for v in found[name]}}
    alarms = [(each.operator, each.cause, each.why) for name in causes if not causes[name] for each in found[name]]
    assert unnamed == {}
    assert alarms == []
    assert sum(map(bool, causes.values())) >= 60
    assert sum(not cause for cause in causes.values()) >= 30
    assert all(len(each.program.splitlines()) <= 10 for each in report.findings)
