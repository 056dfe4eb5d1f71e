"""The project that `opwright new` writes, as its first user tries it; and the names that it refuses."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from installing import environment
from type_checking import mypy

from opwright_codegen.about.new import _FILES
from opwright_codegen.about.origin import origin
from opwright_codegen.cli import main
from opwright_codegen.output.templates import environment as templates

ROOT = Path(__file__).parents[1]
has_make = shutil.which("make") is not None


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, with an environment that its Makefile takes for the one that it has made."""
    folder = tmp_path_factory.mktemp("new")
    done = run([sys.executable, "-m", "opwright_codegen.cli", "new", "demo_ops"], folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "next: cd demo_ops && make test"
    made = folder / "demo_ops"
    python = environment(made / ".venv")
    with (made / ".venv" / "lib" / python_folder() / "site-packages" / "project.pth").open("w") as file:
        file.write(f"{made}/src\n")
    command = python.parent / "opwright"
    command.write_text(f'#!/bin/sh\nexec "{python}" -m opwright_codegen.cli "$@"\n')
    command.chmod(0o755)
    (made / ".venv" / ".installed").touch()
    return made


def python_folder() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)


@pytest.mark.once  # C of a project, and mypy
def test_it_is_generated_compiled_and_tested(project: Path) -> None:
    """First as on a machine without a compiler: a line says what to install, and what is not in C is tested."""
    if not has_make:
        pytest.skip("there is no make")  # continuous integration has it
    quick = "PYTEST=-k 'not aot_dispatch'"
    done = run(["make", "test", quick], project, CC="no-such-compiler")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.splitlines()[0].startswith("opwright: CC names 'no-such-compiler', which is not installed: inst")
    passed, skipped = counts(done.stdout)
    assert passed > 10
    if shutil.which("cc") is None:
        return
    done = run(["make", "test"], project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 files compiled" in done.stdout
    compiled, left = counts(done.stdout)
    assert compiled > passed + 10 and left < skipped


@pytest.mark.once  # C of a project, and mypy
def test_an_operator_is_added_as_the_readme_says(project: Path, tmp_path: Path) -> None:
    """Its entry and its kernel are enough: the package has it, and type checkers know it."""
    assert "`demo_ops.NAME` is then there" in (project / "README.md").read_text()
    own = Path(shutil.copytree(project, tmp_path / "own", ignore=shutil.ignore_patterns(".venv", "operators")))
    entry = "- func: demo_ops::halve(Tensor self) -> Tensor\n  meta: like(self)\n  dispatch:\n    CPU: halve\n"
    with (own / "schemas" / "ops.yaml").open("a") as file:
        file.write(f"\n{entry}")
    with (own / "src" / "demo_ops" / "kernels.py").open("a") as file:
        file.write("\n\ndef halve(self: npt.NDArray[Any]) -> npt.NDArray[Any]:\n    return self / 2\n")
    assert run([sys.executable, "-m", "opwright_codegen.cli", "generate"], own).returncode == 0
    program = "import numpy as np\nimport demo_ops\n\nfound = demo_ops.halve(np.ones(2))\nprint(found.tolist())\n"
    (own / "program.py").write_text(program)
    paths = os.pathsep.join([str(own / "src"), *(str(ROOT / each) for each in ("runtime", "generated", "codegen"))])
    done = run([sys.executable, "program.py"], own, PYTHONPATH=paths)
    assert done.stdout == "[0.5, 0.5]\n", done.stderr
    assert mypy(own / "program.py", path=str(own / "src")).startswith("Success: ")


def test_the_makefile_is_the_same_on_every_machine(project: Path) -> None:
    """Where this machine has Opwright stands in a file that git leaves out."""
    makefile = (project / "Makefile").read_text()
    assert str(ROOT) not in makefile and "-include local.mk" in makefile
    assert str(ROOT) in (project / "local.mk").read_text()
    assert "/local.mk" in (project / ".gitignore").read_text()


def counts(said: str) -> tuple[int, int]:
    """Return how many tests passed, and how many were skipped. None failed."""
    assert "failed" not in said and "error" not in said
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", said)}
    return found["passed"], found.get("skipped", 0)


def test_its_files(project: Path) -> None:
    """Every template is used; what they give is read by those that read it."""
    assert {f"{name}.j2" for name in _FILES.values()} == {path.name for path in (ROOT / "templates" / "new").iterdir()}
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    assert settings["project"]["name"] == "demo_ops"
    assert "${{ matrix.python }}" in (project / ".github/workflows/test.yml").read_text()
    shown = set(re.findall(r"^\| `([^`]+)`", (project / "README.md").read_text(), flags=re.MULTILINE))
    assert {name for name in shown if not (project / name).exists()} <= {"src/demo_ops/operators/"}
    for name in _FILES:
        assert "://" not in (project / name.replace("NAME", "demo_ops")).read_text(), name


def test_its_python_is_laid_out(project: Path) -> None:
    files = ["src/demo_ops/__init__.py", "src/demo_ops/kernels.py", "tests/test_demo_ops.py"]
    select = ["--isolated", "--line-length=120", *files]
    ruff = str(Path(sys.executable).with_name("ruff"))  # of this environment, which need not be the first in PATH
    assert run([ruff, "format", "--check", *select], project).returncode == 0
    done = run([ruff, "check", "--select=E,F,W,I,UP,B", *select], project)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name, problem",
    [
        ("Demo-Ops", "joined by one underscore: 'demo_ops' can"),
        ("a b", "joined by one underscore: 'a_b' can"),
        ("9x", "joined by one underscore: 'x' can"),
        ("../up", "joined by one underscore: 'up' can"),
        ("x__y", "'x_y' can"),
        ("", "joined by one underscore"),
        ("ä", "joined by one underscore"),
        ("x\n", "'x' can"),
        ("x" * 61, "61 letters, and 60 is the most"),
        ("class", "a word of Python"),
        ("match", "a word of Python"),
        ("json", "Python has a module of that name"),
        ("aten", "means something else already"),
        ("conftest", "means something else already"),
        ("numpy", "a package of that name is installed here"),
        ("there", "there exists already, and nothing in it is replaced"),
    ],
)
def test_names_that_are_refused(
    name: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert main(["new", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith("opwright: ") and problem in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupt)
    assert main(["new", "demo_ops"]) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "told, expected",
    [
        ('{"url": "file:///a%20b/c", "dir_info": {"editable": true}}', "/a b/c"),
        ('{"url": "file:///w/opwright-1-py3-none-any.whl", "archive_info": {}}', "/w/opwright-1-py3-none-any.whl"),
        (
            '{"url": "https://h/o.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "s"}',
            "opwright @ git+https://h/o.git@abc#subdirectory=s",
        ),
        ('{"url": "https://h/o.whl", "archive_info": {}}', "opwright @ https://h/o.whl"),
        (None, "opwright==1.5"),
        ("{", str(ROOT)),
        ('{"url": "https://h", "vcs_info": {}}', str(ROOT)),
    ],
)
def test_where_opwright_came_from(told: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Any:
        return SimpleNamespace(read_text=lambda _: told, version="1.5")

    monkeypatch.setattr("opwright_codegen.about.origin.distribution", found)
    assert origin() == expected


def test_where_opwright_came_from_if_it_was_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("opwright_codegen.about.origin.distribution", missing)
    assert origin() == str(ROOT)


@pytest.mark.skipif(not has_make, reason="there is no make")
@pytest.mark.parametrize("source", ["/a b/o'p", "/x$y", "/a#b", 'opwright @ git+x@1#subdirectory="s"', ""])
def test_the_makefile_hands_on_where_opwright_came_from(source: str, tmp_path: Path) -> None:
    values = {"name": "demo", "origin_in_make": source.replace("$", "$$").replace("#", "\\#")}
    (tmp_path / "Makefile").write_text(templates().get_template("new/Makefile.j2").render(values))
    (tmp_path / "more.mk").write_text("show:\n\t@printf '%s' \"$$OPWRIGHT\"\n")
    command = ["make", "-s", "-f", "Makefile", "-f", "more.mk", "show"]
    assert run(command, tmp_path, OPWRIGHT="").stdout == source
    assert run(command, tmp_path, OPWRIGHT="/else where").stdout == "/else where"
