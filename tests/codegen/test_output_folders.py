"""The folders that output may go to: what is not ours is neither replaced nor removed, nor mixed with what is."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.cli import main

pytestmark = pytest.mark.once  # files in, messages out
OPERATORS = """
- func: folders::f(Tensor x) -> Tensor
  meta: pointwise(x)
  dispatch:
    CPU, CUDA: xp.sin(x)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "work" / "my_project"
    made.mkdir(parents=True)
    (made / "ops.yaml").write_text(OPERATORS)
    monkeypatch.chdir(made)
    return made


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["generate", "ops.yaml", *arguments]) in (1, 2)
    return capsys.readouterr().err


@pytest.mark.parametrize("folder", [".", "./", "..", "../..", "../my_project", "sub/.."])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_projects_and_what_is_above_them(
    project: Path, capsys: pytest.CaptureFixture[str], folder: str, force: list[str]
) -> None:
    (project / "sub").mkdir()
    before = sorted(project.parent.rglob("*"))
    said = refusal(capsys, "-o", folder, *force)
    assert "project's folder, or above it" in said
    assert "hint: give a folder of its own" in said
    assert sorted(project.parent.rglob("*")) == before


def test_an_empty_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "my_ops"\n')
    assert refusal(capsys, "-o", "") == "opwright: -o has no folder: name one, as in -o my_ops\n"
    assert not (project / "my_ops").exists()


def test_a_symbolic_link(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / "linked").symlink_to(elsewhere)
    said = refusal(capsys, "-o", "linked")
    assert "is a symbolic link" in said
    assert f"hint: name the folder itself: {elsewhere}" in said
    assert not list(elsewhere.iterdir())


def test_the_working_directory_of_a_project_elsewhere(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "my_ops"\n')
    (project / "my_ops" / "inner").mkdir(parents=True)
    monkeypatch.chdir(project / "my_ops" / "inner")
    assert main(["generate"]) == 1
    assert "is the working directory, or above it" in capsys.readouterr().err
    monkeypatch.chdir(project)
    assert main(["generate"]) == 0
    monkeypatch.chdir(project / "my_ops")
    (project / "ops.yaml").write_text(OPERATORS.replace("sin", "cos"))
    assert main(["generate"]) == 0  # it is ours by now


def test_a_folder_of_other_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "thesis" / "part").mkdir(parents=True)
    (project / "thesis" / "part" / "one.txt").write_text("mine")
    said = refusal(capsys, "-o", "thesis")
    assert "holds files that were not generated: part/one.txt" in said
    assert [path.name for path in (project / "thesis").iterdir()] == ["part"]
    assert main(["generate", "ops.yaml", "-o", "thesis", "--force"]) == 0
    assert (project / "thesis" / "part" / "one.txt").read_text() == "mine"
    (project / "thesis" / "more.txt").write_text("mine")
    assert main(["generate", "ops.yaml", "-o", "thesis", "--force"]) == 0


def test_files_of_ours_without_a_manifest(project: Path) -> None:
    assert main(["generate", "ops.yaml", "-o", "my_ops"]) == 0
    (project / "my_ops" / "manifest.json").unlink()
    assert main(["generate", "ops.yaml", "-o", "my_ops"]) == 0
