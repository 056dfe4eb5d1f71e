"""The example of docs/native.md, as a reader would try it: files, one command, a call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "native.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")  # continuous integration has one
def test_the_shortest_example(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
    (tmp_path / "csrc").mkdir()
    for language, name in (("yaml", "ops.yaml"), ("toml", "pyproject.toml"), ("c", "csrc/axpy.c")):
        (tmp_path / name).write_text(blocks[language], encoding="utf-8")
    (tmp_path / "use.py").write_text(blocks["python"], encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    for command in (["-m", "opwright_codegen.cli", "build"], ["use.py"]):
        environment = os.environ | {"PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout == "[1. 3. 5.]\n"
