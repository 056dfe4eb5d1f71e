"""Rules of a project's own, named by `rules` of its settings beside ours: called by name, with the package at work."""

from __future__ import annotations

from pathlib import Path

from python_copies import run_python

SCHEMA = """\
- func: ruled::ends(Tensor self, int count) -> (Tensor first, Tensor whole)
  meta: start_of(self, count), like(self)
  dispatch:
    CPU: self[:count], xp.add(self, 0)
- func: ruled::chosen(Tensor self, bool all) -> Tensor
  meta: like(self) if all else start_of(self, 1)
  dispatch:
    CPU: xp.add(self, 0) if all else self[:1]
"""
RULES = """\
from typing import Any

from opwright import rules
from opwright_core.plans.plan import Plan


def start_of(self: Any, count: int) -> Plan:
    return Plan(rules.like(self[:count]).spec, (self,))
"""
SETTINGS = """\
[tool.opwright]
schemas = ["ops.yaml"]
output = "ruled_ops"
rules = ["opwright.rules", "own_rules"]
"""
PROGRAM = """\
import numpy as np
import opwright
from opwright.fake import FakeTensorMode
from ruled_ops import ops

first, whole = ops.ends(np.arange(5.0), 2)
assert (first.shape, whole.shape) == ((2,), (5,))
assert ops.chosen(np.arange(5.0), False).shape == (1,)
with FakeTensorMode():
    assert ops.ends(opwright.ones(5), 3)[0].shape == (3,)
"""


def test_rules_beside_ours_are_called_where_they_are_defined(tmp_path: Path) -> None:
    files = {"ops.yaml": SCHEMA, "own_rules.py": RULES, "pyproject.toml": SETTINGS, "program.py": PROGRAM}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for each in (["-m", "opwright_codegen.cli", "generate"], ["program.py"]):
        done = run_python(*each, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
