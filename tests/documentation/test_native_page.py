"""The examples of docs/native.md, as a reader would try them: files, one command, a call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "native.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")  # continuous integration has one
def test_the_shortest_example(tmp_path: Path) -> None:
    blocks = dict(reversed(BLOCKS))  # the first of each language
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


def test_functions_that_write_are_declared_as_it_says(tmp_path: Path) -> None:
    """The header has the prototype that stands below the operator."""
    (entry,) = (text for language, text in BLOCKS if language == "yaml" and "adamw_step" in text)
    (prototype,) = (text for language, text in BLOCKS if language == "c" and "adamw_step" in text)
    (tmp_path / "ops.yaml").write_text(entry, encoding="utf-8")
    command = [sys.executable, "-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "demo_ops"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    header = (tmp_path / "demo_ops" / "native" / "demo_kernels.h").read_text(encoding="utf-8")
    assert " ".join(prototype.split()) in " ".join(header.split())
