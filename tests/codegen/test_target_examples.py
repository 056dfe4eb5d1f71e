"""examples/targets: the commands of its README, with the distribution found on the path instead of installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from opwright_codegen.cli import main

pytestmark = pytest.mark.once  # text in, text out

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "targets"
COMPILER = shutil.which("cc") or shutil.which("gcc")
TABLE = """\
# Operators of targets

| operator | keys | gradient | text |
| --- | --- | --- | --- |
| `targets::shift(Tensor self, float by=1.0) -> Tensor` | CPU, CUDA, Meta | no | \
Return the elements of self, each plus by. |
| `targets::halves(Tensor self) -> (Tensor low, Tensor high)` | CPU, CUDA, Meta | no | \
Return half of each element, rounded down and up. |
"""
HEADER = """\
/* Operators of targets: X(name, operator, arguments, results). Made by c_header. */
#pragma once

#define targets_OPERATORS(X) \\
    X(shift, "targets::shift", 2, 1) \\
    X(halves, "targets::halves", 1, 2)
"""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the example, compiled."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    made = tmp_path_factory.mktemp("c_header") / "header"
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    source = str(EXAMPLE / "c_header" / "c_header.c")
    subprocess.run([COMPILER, *strict, "-o", str(made), source], check=True)
    return made


def test_both_targets_make_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: Path) -> None:
    shutil.copy(EXAMPLE / "markdown_table" / "markdown_table.py", tmp_path)
    project = tomllib.loads((EXAMPLE / "markdown_table" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / "markdown_table-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["opwright.targets"]
    rows = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[opwright.targets]\n{rows}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(EXAMPLE)
    output = tmp_path / "my_targets"
    words = ["--target", "markdown_table", "--plugin", str(header)]
    assert main(["generate", "ops.yaml", "-o", str(output), *words]) == 0
    assert (output / "docs/operators.md").read_text(encoding="utf-8") == TABLE
    assert (output / "include/targets_operators.h").read_text(encoding="utf-8") == HEADER
    sys.modules.pop("markdown_table", None)


def test_the_program_refuses_names_that_c_keeps(tmp_path: Path, header: Path) -> None:
    (tmp_path / "ops.yaml").write_text(
        "- func: mine::__and__(Tensor x, Tensor y) -> Tensor\n  meta: pointwise(x, y)\n  dispatch: {CPU: x & y}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "out", "--plugin", str(header)],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert done.stderr.startswith("ops.yaml:1:3: error: the program ")
    assert "mine::__and__: C keeps names that begin with two underscores [target-error]" in done.stderr
    assert "hint: rename the operator" in done.stderr


@pytest.mark.parametrize("text", ["", "{", "[1", '{"format', '{"format": }', '{"format": 2}', "{}", '{"format":1,"a"}'])
def test_the_program_refuses_what_is_no_declared_set(text: str, header: Path) -> None:
    done = subprocess.run([str(header)], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("c_header: ") and done.stdout == ""


def test_the_program_lists_all_of_aten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: Path) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["generate", "--declared", str(tmp_path / "aten.json")]) == 0
    text = (tmp_path / "aten.json").read_text(encoding="utf-8").replace('"base": "__', '"base": "dunder')
    done = subprocess.run([str(header)], input=text, capture_output=True, text=True, check=True)
    (made,) = json.loads(done.stdout)["files"].values()
    assert made.count("    X(") == len(json.loads(text)["operators"])
