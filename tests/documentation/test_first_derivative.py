"""The first page of docs/derivatives.md and examples/derivatives: generated, checked and run as they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from copying import copy_example
from python_copies import run_python

ROOT = Path(__file__).parents[2]
GENERATE = ["-m", "opwright_codegen.cli", "generate"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python(*arguments, cwd=folder)


def files_of_the_page() -> dict[str, str]:
    text = (ROOT / "docs" / "derivatives.md").read_text(encoding="utf-8")
    return dict(re.findall(r"```\w+\n# (\w+\.(?:toml|yaml|py))\n(.*?)```", text, re.DOTALL))


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for name, content in files_of_the_page().items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_the_first_derivative(first: Path) -> None:
    assert list(files_of_the_page()) == ["pyproject.toml", "ops.yaml", "derivatives.yaml", "gradients.py", "try_it.py"]
    for arguments in (GENERATE, ["try_it.py"]):
        ran = run(first, *arguments)
        assert ran.returncode == 0, ran.stderr
    assert "SoftsignBackward0" in ran.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("self.abs()", "self.apps()", "derivatives.yaml:2:38: error: tensors have no 'apps'"),
        ("split_back(", "split_bak(", "hint: did you mean 'split_back'?"),
        ("cat(tensors)", "cat(tensor)", "hint: did you mean 'tensors'?"),
    ],
)
def test_a_mistake_is_shown_where_it_is(first: Path, right: str, wrong: str, message: str) -> None:
    path = first / "derivatives.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")
    ran = run(first, *GENERATE)
    assert ran.returncode == 1
    assert message in ran.stderr, ran.stderr
    assert not (first / "curve_ops").exists()


def test_a_wrong_formula_is_found(first: Path) -> None:
    path = first / "derivatives.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("grad * width /", "-grad * width /"), encoding="utf-8")
    assert run(first, *GENERATE).returncode == 0
    ran = run(first, "try_it.py")
    assert "likely cause: the sign" in ran.stderr, ran.stderr


def test_the_example(tmp_path: Path) -> None:
    folder = tmp_path / "derivatives"
    copy_example("derivatives", folder)
    for arguments in (GENERATE, ["train.py"]):
        ran = run(folder, *arguments)
        assert ran.returncode == 0, ran.stderr
    assert "gradients are right" in ran.stdout
    losses = [float(found) for found in re.findall(r"loss ([0-9.]+)", ran.stdout)]
    assert len(losses) == 4 and losses == sorted(losses, reverse=True)
    assert "y = 1.9" in ran.stdout.splitlines()[-1]
