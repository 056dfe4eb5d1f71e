"""Rendering: packages of the cases run, are the same anywhere, and clean as they are written.

A case is a folder: `ops.yaml`, modules that it names, and `calls.py`, a program that calls the operators and asserts
the results. Three small cases also have `expected/`, the generated text; `--update-golden` writes it anew.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from python_copies import run_python
from rendered_cases import CASES, NAMES, ROOT, case, package_of, rendered, write
from test_structure import foreign_imports

from opwright_codegen.declared.declare import declare
from opwright_codegen.output.render import render

SHOWN = ("documented", "long_lines", "views")
# Their kernels are compiled before they are called: tests/runtime/cuda and tests/runtime/native do both.
COMPILED = ("cuda", "native")


@pytest.mark.parametrize("name", SHOWN)
def test_layout(name: str, update_golden: bool) -> None:
    found = rendered(name)
    expected = CASES / name / "expected"
    if update_golden:
        shutil.rmtree(expected, ignore_errors=True)
        write(found, expected)
    files = [path for path in expected.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert found == {path.relative_to(expected).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in COMPILED])
def test_calls(name: str) -> None:
    """What is generated computes what the case says, and warns of nothing."""
    packages = package_of(name).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])}
    ran = run_python(CASES / name / "calls.py", cwd=packages, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ran.stderr == ""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with the packages of all cases."""
    folders = [package_of(name) for name in NAMES]
    return folders[0].parent


def test_output_imports_nothing_of_the_runtime_but_its_interface(packages: Path) -> None:
    files = [path for path in packages.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    assert len(files) > 200
    assert [found for path in files for found in foreign_imports(path)] == []


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_output_is_clean_for_ruff(packages: Path) -> None:
    checked = run("ruff", "check", "--config", "pyproject.toml", str(packages))
    assert checked.returncode == 0, checked.stdout
    formatted = run("ruff", "format", "--check", "--diff", "--config", "pyproject.toml", str(packages))
    assert formatted.returncode == 0, formatted.stdout


WITH_KERNELS = [name for name in NAMES if (CASES / name / "kernels.py").exists()]


@pytest.mark.once  # mypy reads what was generated
@pytest.mark.parametrize("name", ["those without kernels", *WITH_KERNELS])
def test_output_is_clean_for_mypy(name: str, packages: Path, tmp_path: Path) -> None:
    """Of cases with kernels one by one, since these have one name, of all others together."""
    for module in ("kernels.py", "gradients.py"):
        path = CASES / name / module
        if path.exists():
            (tmp_path / module).write_bytes(path.read_bytes())
    folders = os.pathsep.join(map(str, (packages, tmp_path)))
    cases = [name] if name in WITH_KERNELS else [each for each in NAMES if each not in WITH_KERNELS]
    given = [word for each in cases for word in ("-p", f"demo_{each}")]
    checked = run("mypy", "--config-file", "pyproject.toml", "--follow-imports=silent", *given, MYPYPATH=folders)
    assert checked.returncode == 0, checked.stdout


PROGRAM = """
import hashlib, json
from rendered_cases import NAMES, rendered
digest = lambda text: hashlib.sha256(text.encode()).hexdigest()
print(json.dumps({name: [(file, digest(text)) for file, text in rendered(name).items()] for name in NAMES}))
"""


def test_output_depends_on_the_input_alone(tmp_path: Path) -> None:
    """Not on hash seeds, the locale, the time zone, the working directory, or the order of the environment."""
    shuffled = [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
        {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "COLUMNS": "20", "HOME": str(tmp_path)},
    ]
    outputs = []
    for changes in shuffled:
        path = os.pathsep.join([str(CASES.parent), os.environ.get("PYTHONPATH", "")])
        given = {**os.environ, "PYTHONPATH": path, **changes}
        environment = dict(sorted(given.items(), reverse=changes["TZ"] != "UTC"))
        command = [sys.executable, "-c", PROGRAM]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True)
        outputs.append(json.loads(ran.stdout))
    assert outputs[0] == outputs[1]
    assert set(outputs[0]) == set(NAMES)


def test_output_parses_and_ends_lines_as_unix_does(packages: Path) -> None:
    for path in packages.rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            data = path.read_bytes()
            assert b"\r" not in data
            assert data.endswith(b"\n") and not data.endswith(b"\n\n")
            ast.parse(data)


def test_only_renders_the_files_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "pointwise")
    (declared,) = declare(case("demo", strict=True)).values()
    found = render(declared, only=("ops", "register.py"))
    assert list(found) == ["ops/__init__.py", "ops/__init__.pyi", "ops/ops.py", "ops/ops.pyi", "register.py"]
