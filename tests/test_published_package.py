"""The page "From a schema file to a published package": its project, generated, tested, built, installed and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from installing import copied, environment, install, run
from type_checking import mypy

pytestmark = pytest.mark.once  # wheels, installations and type checkers

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "examples" / "package"
PAGE = (ROOT / "docs" / "publishing.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, generated."""
    folder = copied(PROJECT, tmp_path_factory.mktemp("project") / "shrink")
    done = run(sys.executable, "-m", "opwright_codegen.cli", "generate", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = sys.executable, "-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", "--wheel-dir", folder
    done = run(*pip, project, cwd=project)
    if "No matching distribution" in done.stderr:
        pytest.skip("pip reaches no package index")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment into which the wheel was installed."""
    made = environment(tmp_path_factory.mktemp("environment"))
    install(made, wheel)
    return made


def test_the_page_shows_the_files_of_the_example() -> None:
    blocks = re.findall(r"^```\w+\n# (\S+\.(?:toml|yaml))\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for name, text in blocks:
        assert text == (PROJECT / name).read_text(encoding="utf-8"), name


def test_the_commands_of_the_page(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The shell block as it stands there, with this Python's commands, in an environment of its own."""
    block = re.search(r"^```sh\n(opwright generate.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    python = environment(tmp_path_factory.mktemp("editable"))
    folders = os.pathsep.join([str(python.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    commands = block[1].replace("pytest ", "python -m pytest ").replace("opwright ", "python -m opwright_codegen.cli ")
    done = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=project,
        env={**os.environ, "PATH": folders, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution" in done.stderr:
        pytest.skip("pip reaches no package index")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[-0.5  0.   1.5]" in done.stdout
    assert re.search(r"4 passed.*\d+ passed.*up to date", done.stdout, flags=re.DOTALL)


def test_the_wheel_has_stubs_and_manifest(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("shrink/")}
    assert {
        "shrink/py.typed",
        "shrink/operators/py.typed",
        "shrink/operators/ops/ops.pyi",
        "shrink/operators/manifest.json",
    } <= names


def test_it_is_a_plugin(python: Path, tmp_path: Path) -> None:
    code = "import opwright, numpy as np; print(opwright.ops.shrink.soft(np.array([2.0])), opwright.plugins.loaded())"
    done = run(python, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[1.5]") and "shrink.operators" in done.stdout


def test_type_checkers_know_its_operators(python: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        'import opwright, shrink\nt = opwright.ones(2)\nreveal_type(shrink.soft(t))\nshrink.soft(t, "x")\n'
    )
    said = mypy(program, f"--python-executable={python}")
    assert re.search(r'program.py:3: note: Revealed type is ".*Tensor"', said), said
    assert re.search(r"program.py:4: error: .*(No overload|incompatible type)", said), said
