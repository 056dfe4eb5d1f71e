"""The recipe "Add a binding" of docs/architecture.md: a binding in a distribution of its own, written from the page."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright_codegen.cli import main
from opwright_codegen.output.templates import environment

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
RECIPE = PAGE.partition("## Add a binding")[2]
BLOCKS = re.findall(r"^```\w+ excerpt\n(.*?)^```$", RECIPE, re.DOTALL | re.MULTILINE)
OPERATORS = """
- func: mine::twice(Tensor x) -> Tensor
  meta: pointwise(x)
  autogen: twice.out
  dispatch: {CPU: 2 * x}
"""
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "my_ops"\nbindings = ["lists"]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project beside the distribution of the page, as pip installs one."""
    folder = tmp_path / "installed"
    points = BLOCKS[0].replace('"', "").replace("[project.entry-points.", "[")
    for text in BLOCKS[1:]:
        first, _, rest = text.partition("\n")
        path = folder / re.findall(r"[\w/.]+\.\w+", first)[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rest, encoding="utf-8")
    (folder / "opwright_lists" / "__init__.py").touch()
    metadata = folder / "opwright_lists-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: opwright-lists\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(folder)
    own = tmp_path / "project"
    own.mkdir()
    (own / "ops.yaml").write_text(OPERATORS, encoding="utf-8")
    (own / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    yield own
    for name in [each for each in sys.modules if each.partition(".")[0] == "opwright_lists"]:
        del sys.modules[name]


def run(project: Path, *command: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    environment.cache_clear()  # each run stands for a process of its own
    with contextlib.chdir(project), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(command))
    return status, out.getvalue(), err.getvalue()


def folder_of(project: Path) -> Path:
    return project.parent / "installed" / "opwright_lists"


def test_the_binding_of_the_page(project: Path) -> None:
    status, printed, said = run(project, "generate")
    assert status == 0, said
    assert "not given to lists: mine::twice.out: it writes an argument, and results are new lists" in printed
    paths = [str(project), str(folder_of(project).parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", "import my_ops_lists; print(my_ops_lists.twice([[1, 2], [3, 4]]))"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[[2, 4], [6, 8]]\n", "")
    assert "lists" in run(project, "list", "--targets")[1]
    (project / "pyproject.toml").write_text(SETTINGS.replace('"lists"', ""), encoding="utf-8")
    assert run(project, "generate")[0] == 0
    assert not (project / "my_ops_lists.py").exists()


def test_a_run_has_nothing_to_do_until_the_binding_changes(project: Path) -> None:
    run(project, "generate")
    assert "up to date" in run(project, "generate")[1]
    template = folder_of(project) / "binding.py.j2"
    template.write_text(template.read_text() + "# more\n", encoding="utf-8")
    status, printed, _ = run(project, "generate", "--check")
    assert status == 1 and "change   my_ops_lists.py" in printed


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("target.py", "FRAMEWORK = Framework(refusal)", "", "opwright_lists.target has no FRAMEWORK"),
        ("target.py", "    return None", "    return x", "the binding 'lists' of opwright-lists 1.0 failed: NameError"),
        ("target.py", "Framework(refusal)", "Framework(refusal, files=lambda _: {'../x.py': ''})", "leads out of"),
        ("target.py", "Framework(refusal)", "Framework(refusal, template='gone.j2')", "failed: FileNotFoundError"),
        ("binding.py.j2", "block.statement", "block.gone", "failed: UndefinedError"),
        ("binding.py.j2", "{% endfor %}", "", "failed: TemplateSyntaxError"),
    ],
)  # fmt: skip
def test_a_wrong_binding_is_one_line(project: Path, file: str, old: str, new: str, said: str) -> None:
    path = folder_of(project) / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    status, _, found = run(project, "generate")
    assert status == 1 and said in found and "Traceback" not in found
    assert not (project / "my_ops").exists()


def test_two_bindings_of_one_name(project: Path) -> None:
    other = folder_of(project).parent / "others-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text("[opwright.bindings]\nlists = more_lists\n")
    status, _, said = run(project, "generate")
    assert status == 2
    assert "pyproject.toml:4:13: error: several distributions have a binding 'lists': " in said
