"""Rendering: what each path of the generator gives, that it is the same anywhere, and clean as it is written."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright_codegen.commands.job import Job
from opwright_codegen.declared.declare import declare
from opwright_codegen.output.render import render

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())


def render_case(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(CASES / name)
    (declared,) = declare(case(f"demo_{name}", strict=name != "unbound")).values()
    return render(declared)


def case(package: str, *, strict: bool) -> Job:
    """The job of the case in the working directory."""
    return Job(
        Path.cwd(),
        (Path("ops.yaml"),),
        namespace="aten",
        derivatives=Path("derivatives.yaml") if Path("derivatives.yaml").exists() else None,
        kernels=("kernels",) if Path("kernels.py").exists() else (),
        rules=("opwright.rules",),
        gradients=("gradients",),
        strict=strict,
        output=Path(package),
    )


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    found = render_case(name, monkeypatch)
    expected = CASES / name / "expected"
    if update_golden:
        expected.mkdir(exist_ok=True)
        for path in [path for path in expected.rglob("*") if path.is_file()]:
            if path.is_file():
                path.unlink()
        for file, text in found.items():
            (expected / file).parent.mkdir(exist_ok=True)
            (expected / file).write_text(text, encoding="utf-8", newline="\n")
    files = [path for path in expected.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert found == {path.relative_to(expected).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expected output of all cases, as packages beside each other."""
    folder = tmp_path_factory.mktemp("packages")
    for name in NAMES:
        package = folder / f"demo_{name}"
        shutil.copytree(CASES / name / "expected", package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


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
import hashlib, json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_render import case, declare, render
hashes = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    os.chdir(folder)
    (declared,) = declare(case("demo", strict=False)).values()
    files = render(declared)
    hashes[folder.name] = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
print(json.dumps(hashes))
"""


def test_output_depends_on_the_input_alone(tmp_path: Path) -> None:
    """Not on hash seeds, the locale, the time zone, the working directory, or the order of the environment."""
    shuffled = [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
        {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "COLUMNS": "20", "HOME": str(tmp_path)},
    ]
    outputs = []
    for changes in shuffled:
        environment = dict(sorted({**os.environ, **changes}.items(), reverse=changes["TZ"] != "UTC"))
        arguments = [sys.executable, "-c", PROGRAM, str(CASES), str(Path(__file__).parent)]
        ran = subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True)
        outputs.append(json.loads(ran.stdout))
    assert outputs[0] == outputs[1]
    assert set(outputs[0]) == set(NAMES)


def test_output_parses_and_ends_lines_as_unix_does(packages: Path) -> None:
    for path in packages.rglob("*.py*"):
        data = path.read_bytes()
        if path.name != "py.typed":
            assert b"\r" not in data
            assert data.endswith(b"\n") and not data.endswith(b"\n\n")
            ast.parse(data)


def test_only_renders_the_files_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "pointwise")
    (declared,) = declare(case("demo", strict=True)).values()
    found = render(declared, only=("ops", "register.py"))
    assert list(found) == ["ops/__init__.py", "ops/__init__.pyi", "ops/ops.py", "ops/ops.pyi", "register.py"]
