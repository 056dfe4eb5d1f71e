"""The examples of docs/cuda.md, as a reader would try them; without a GPU on the stand-ins for CuPy and nvcc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "cuda.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")  # continuous integration has one
def test_the_examples(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    raw, host = (text for language, text in blocks if language == "cuda")
    first, second = (text for language, text in blocks if language == "yaml" and "fused::" not in text)
    (settings,) = (text for language, text in blocks if language == "toml")
    (use,) = (text for language, text in blocks if language == "python")
    more = "print(ops.twice(x).tolist())\n"
    files = {
        "ops.yaml": f"{first}\n{second}",
        "pyproject.toml": settings,
        "csrc/axpy.cu": raw,
        "csrc/twice.cu": host,
        "use.py": f"import cupy_stand_in\n\ncupy_stand_in.cupy_for_tests()\n{use}{more}",
    }
    (tmp_path / "csrc").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(TESTS), os.environ.get("PYTHONPATH", "")])
    stand_in = f"{sys.executable} {TESTS / 'cupy_stand_in' / 'nvcc.py'}"
    environment = os.environ | {"PYTHONPATH": path, "NVCC": os.environ.get("NVCC", stand_in)}
    for command in (["-m", "opwright_codegen.cli", "build"], ["use.py"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout == "[1.0, 3.0, 5.0]\n[0.0, 2.0, 4.0]\n"
