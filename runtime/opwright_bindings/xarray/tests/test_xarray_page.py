"""The page of this binding, as a reader would try it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from python_copies import run_python

pytest.importorskip("xarray", reason="xarray is not installed: the group of dependencies `labelled`")
pytest.importorskip("dask", reason="Dask is not installed: the group of dependencies `dask`")
PAGE = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def test_the_page(tmp_path: Path) -> None:
    for name, text in re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for command in (["-m", "opwright_codegen.cli", "generate"], ["use.py"]):
        done = run_python(*command, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
    (expected,) = re.findall(r"^prints\n\n```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert done.stdout == expected
