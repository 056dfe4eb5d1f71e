"""The rule by path of docs/schema-files.md: its files, generated and called."""

from __future__ import annotations

import re
from pathlib import Path

from python_copies import run_python

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
import opwright
from opwright.fake import FakeTensorMode
from own_ops import ops

points, centers = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])
assert ops.distances(points, centers).tolist() == [[0.0], [5.0]]
assert ops.distances(points, centers, p=1.0).tolist() == [[0.0], [7.0]]
out = opwright.empty([0], dtype="float64")
ops.distances(opwright.tensor(points), opwright.tensor(centers), out=out)
assert out.shape == (2, 1)
with FakeTensorMode():
    assert ops.distances(opwright.empty(1024, 3), opwright.empty(7, 3)).shape == (1024, 7)
for wrong, message in (((points, centers[0]), "must have"), ((points, centers, -1.0), "p has to be positive")):
    try:
        ops.distances(*wrong[:2], p=wrong[2] if len(wrong) > 2 else 2.0)
    except RuntimeError as error:
        print(error)
"""


def test_a_rule_by_path(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "schema-files.md").read_text(encoding="utf-8")
    files = re.findall(r"```\w+\n# (ops\.yaml|shapes\.py|measures\.py)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["ops.yaml", "shapes.py", "measures.py"]
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    command = ["-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "own_ops"]
    for arguments in (command, ["-c", PROGRAM]):
        ran = run_python(*arguments, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
    assert "distances: p has to be positive, but got -1.0" in ran.stdout
    assert len(ran.stdout.splitlines()) == 2
