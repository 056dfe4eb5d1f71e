"""examples/everywhere: each command of its README, and what is said where a framework is missing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from python_copies import run_python

EXAMPLE = Path(__file__).parents[2] / "examples" / "everywhere"
SETTINGS = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
FRAMEWORKS = SETTINGS["tool"]["opwright"]["bindings"]
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.DOTALL | re.MULTILINE)
FIRST, *USES = [line.partition("#")[0].strip() for line in BLOCK.splitlines()]
MARKED = [pytest.param(each, marks=pytest.mark.oracle if each == "torch" else ()) for each in FRAMEWORKS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in a folder of its own, after the first command."""
    folder = tmp_path_factory.mktemp("example") / "everywhere"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "everywhere_ops*"))
    assert FIRST == "opwright generate"
    done = run(folder, "-m", "opwright_codegen.cli", "generate")
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return run_python(*command, cwd=folder, env=os.environ | {"PYTHONPATH": paths})


def test_the_readme_has_a_command_for_each_framework() -> None:
    assert sorted(USES) == sorted(f"python use_{each}.py" for each in ("arrays", "two_processes", *FRAMEWORKS))
    assert {path.name for path in EXAMPLE.glob("use_*.py")} == {each.removeprefix("python ") for each in USES}


@pytest.mark.slow
@pytest.mark.oracle
def test_two_processes(folder: Path) -> None:
    """What each of two processes holds a part of: DTensor over gloo, JAX over gloo, workers of Dask."""
    done = run(folder, "use_two_processes.py")
    assert done.returncode == 0, done.stderr
    lines = [re.sub(r"^.* sent, |^.* tasks, ", "", line) for line in done.stdout.splitlines() if line[0] != "["]
    assert lines == ["equal"] * 14
    assert "DTensor: squared_distances of columns: (Partial(sum),), 0 sent" in done.stdout
    assert "JAX: squared_distances of columns: P(None, None), 1 sent" in done.stdout
    assert "JAX: moving_mean of columns: P(None, 'x'), 2 sent" in done.stdout


def test_arrays_of_numpy(folder: Path) -> None:
    done = run(folder, "use_arrays.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(", numpy: equal") == 6 and "different" not in done.stdout


@pytest.mark.skipif("cupy" not in sys.modules and importlib.util.find_spec("cupy") is None, reason="without CuPy")
def test_arrays_of_cupy(folder: Path) -> None:
    """CuPy's where there is a GPU, else those of the stand-in."""
    tests = str(Path(__file__).parents[1])
    code = f"import runpy, sys; sys.path.append({tests!r}); import cupy_stand_in; cupy_stand_in.cupy_for_tests(); "
    done = run(folder, "-c", code + "runpy.run_path('use_arrays.py')")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(", cupy: equal") == 6 and "different" not in done.stdout


@pytest.mark.parametrize("framework", MARKED)
def test_commands(folder: Path, framework: str) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    done = run(folder, f"use_{framework}.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": equal") >= 6 and "different" not in done.stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_that_is_missing_is_one_line(folder: Path, framework: str) -> None:
    hidden = f"import sys; sys.modules[{framework!r}] = None; "
    done = run(folder, "-c", hidden + f"import everywhere_ops_{framework}")
    *_, last = done.stderr.splitlines()
    said = r"opwright_bindings\.\S+: \w+ is not installed, and this module gives it operators: pip install \S+"
    assert done.returncode != 0 and re.fullmatch(said, last), done.stderr
    assert done.stderr.count("Traceback") == 1
    assert run(folder, "-c", hidden + "import everywhere_ops").returncode == 0
