"""The page of this binding, as a reader would try it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from python_copies import run_python

pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
PAGE = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def run(folder: Path, *command: str) -> str:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    done = run_python(*command, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page(tmp_path: Path) -> None:
    for name, text in re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    run(tmp_path, "-m", "opwright_codegen.cli", "generate")
    (expected,) = re.findall(r"^prints\n\n```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert run(tmp_path, "use.py") == expected
