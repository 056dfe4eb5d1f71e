"""The page on arrays of other libraries: its example with PyTorch, as it stands there, and its ufuncs, built."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from python_copies import run_python

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "arrays.md").read_text(encoding="utf-8")
EXCERPTS = re.findall(r"^```python excerpt\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(program: str, folder: Path) -> str:
    done = run_python("-c", program, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.oracle
def test_the_first_example_prints_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code, _, printed = EXCERPTS[0].rpartition("# ")
    assert run(code, tmp_path) == printed


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_ufuncs_are_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(
        "- func: demo::smooth(Tensor x, Tensor y) -> Tensor\n  kernel: x / (1 + abs(y))\n"
    )
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "demo_ops"\n')
    done = run_python("-m", "opwright_codegen.cli", "build", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head = "import sys; sys.path.insert(0, '.')\nimport demo_ops, numpy as np, opwright\n"
    given = "x, y, out = np.array([1.0, -2.0]), np.array([3.0, 4.0, 5.0]), np.zeros(2)\n"
    printed = run(f"{head}{given}{EXCERPTS[1]}\nprint(out.tolist(), smooth.outer(x, y).shape)", tmp_path)
    assert printed == "[0.5, 0.0] (2, 3)\n"
