"""Faults planted in operators of PyTorch are found and named by their cause; about sound ones nothing is said."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from test_planted import PLANTED

from opwright.gate.run import gate

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.once]  # each process chooses its core

_LIST = """
import faults_in_torch
for name, (kind, cause) in faults_in_torch.CAUSES.items():
    print(name, cause or "-")
"""


def causes() -> dict[str, str]:
    """The cause of each planted operator, "" for a sound one."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLANTED), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", _LIST]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: cause.strip("-") for name, cause in map(str.split, run.stdout.splitlines())}


def test_faults_of_pytorch_operators_are_named() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLANTED))
        report = gate(["torch:planted_t"], modules=["faults_in_torch"], jobs=2)
    planted = causes()
    named = {(each.operator, each.cause) for each in report.findings}
    assert [(name, cause) for name, cause in planted.items() if cause and (name, cause) not in named] == []
    sound = {name for name, cause in planted.items() if not cause}
    assert [(each.operator, each.cause, each.why) for each in report.findings if each.operator in sound] == []
    assert len(planted) >= 25
    assert len(sound) >= 3
