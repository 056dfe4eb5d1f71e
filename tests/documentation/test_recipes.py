"""The recipes of docs/architecture.md, followed: their blocks are put at the places that they name, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # commands of the generator

ROOT = Path(__file__).parents[2]
SCHEMA = "- func: mine::twice(Tensor x) -> Tensor\n  meta: pointwise(x)\n  dispatch:\n    CPU: 2 * x\n"


def recipe(title: str) -> dict[str, list[str]]:
    """The blocks below a heading of the page, by their language."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### {title}\n(.*?)(?=^##)", page, re.DOTALL | re.MULTILINE)
    found: dict[str, list[str]] = {}
    for language, text in re.findall(r"^```([^\n]*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        found.setdefault(language, []).append(text)
    return found


def run(folder: Path, *words: str, path: Path) -> str:
    """Run a Python in a folder, whose modules come from a path first; return what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply(change: str, root: Path) -> str:
    """Make a change to the file that its first line names, at the one place where its other lines are; return it."""
    head, *lines = change.splitlines(keepends=True)
    name = head.removeprefix("+++ ").strip()
    text = (root / name).read_text(encoding="utf-8")
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    assert text.count(before) == 1, f"{name} has not the lines of the recipe"
    (root / name).write_text(text.replace(before, "".join(line[1:] for line in lines)), encoding="utf-8")
    return name


def named(blocks: Mapping[str, list[str]]) -> dict[str, str]:
    """The files that blocks are: the first line is a comment with the name."""
    return {text.partition("\n")[0].removeprefix("# "): text for texts in blocks.values() for text in texts}


def test_a_key_of_schema_files_takes_two_places(tmp_path: Path) -> None:
    blocks = recipe("A key of schema files: 2 places")
    for folder in ("codegen", "schemas", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert len({apply(change, tmp_path) for change in blocks["diff"]}) == len(blocks["diff"]) == 2
    (entry,) = blocks["yaml excerpt"]
    (tmp_path / "ops.yaml").write_text(entry, encoding="utf-8")
    path = tmp_path / "codegen"
    command = ("-m", "opwright_codegen.cli")
    run(tmp_path, *command, "check", "ops.yaml", path=path)
    run(tmp_path, *command, "fmt", "--check", "ops.yaml", path=path)
    assert "\n| `owner` | The team that " in run(tmp_path, *command, "schema", "keys", path=path)
    assert '"owner": {' in run(tmp_path, *command, "schema", "operators", path=path)
    use = "from opwright_codegen.read.files import read; print(read(['ops.yaml']).operators['mine::twice'].owner)"
    assert run(tmp_path, "-c", use, path=path) == "linear_algebra\n"


def test_a_target_takes_two_files(tmp_path: Path) -> None:
    blocks = recipe("A target: 2 files")
    files = named({language: blocks[language] for language in ("python", "toml")})
    assert sorted(files) == ["operator_names.py", "pyproject.toml"]
    distribution, project, site = (tmp_path / name for name in ("distribution", "project", "site"))
    for folder in (distribution, project):
        folder.mkdir()
    for name, text in files.items():
        (distribution / name).write_text(text, encoding="utf-8")
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), ".")
    run(distribution, *install, path=site)
    (project / "ops.yaml").write_text(SCHEMA, encoding="utf-8")
    (command,) = blocks["sh excerpt"]
    program, *words = command.split()
    assert program == "opwright"
    run(project, "-m", "opwright_codegen.cli", *words, path=site)
    assert (project / "my_ops/docs/names.md").read_text(encoding="utf-8") == "- mine::twice\n"
