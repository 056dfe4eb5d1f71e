"""Commands on two operators load what they need alone: modules are counted, as times say little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright_codegen.output import templates

pytestmark = pytest.mark.once  # the runtime is not loaded

OPS = """
- func: quick::soft(Tensor self, float limit=0.5) -> Tensor
  meta: like(self)
  kernel: where(abs(self) > limit, self, 0)
- func: quick::twice(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CPU: self * 2
"""
PROJECT = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "quick_ops"\n'
PROGRAM = """
import json, sys
before = set(sys.modules)
from opwright_codegen.entry import main
sys.argv = ["opwright", *sys.argv[1:]]
status = main()
print(json.dumps([status, sorted(set(sys.modules) - before)]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quick")
    (folder / "ops.yaml").write_text(OPS)
    (folder / "pyproject.toml").write_text(PROJECT)
    loaded(folder, "generate")
    return folder


def loaded(folder: Path, *words: str) -> set[str]:
    """Return the modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    status, names = json.loads(done.stdout.splitlines()[-1])
    assert status == 0, done.stderr
    return set(names)


def test_check_makes_no_text(project: Path) -> None:
    found = loaded(project, "check")
    for name in ("lark", "jinja2", "numpy", "rich", "sympy", "opwright", "opwright_core", "opwright_kernels"):
        assert name not in found, name
    ours = {name for name in found if name.startswith("opwright_codegen")}
    assert not [name for name in found if name.startswith("opwright_bindings.torch.")]
    assert len(ours) <= 208, len(ours)
    assert len(found) <= 355, len(found)


def test_show_reads_no_grammar(project: Path) -> None:
    found = loaded(project, "show", "soft")
    assert "jinja2" in found and not found & {"lark", "numpy", "rich", "sympy", "opwright", "opwright_core"}


def test_a_run_that_has_nothing_to_do_reads_nothing(project: Path) -> None:
    found = loaded(project, "generate")
    assert not found & {"lark", "jinja2", "yaml", "numpy", "opwright", "opwright_codegen.read.files"}
    assert len([name for name in found if name.startswith("opwright_codegen")]) <= 35
    assert len(found) <= 150, len(found)


def test_compiled_templates_are_kept_and_those_of_another_text_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the templates, where Python keeps its modules; where nobody may write, they are compiled each time."""
    (tmp_path / "one.j2").write_text("a {{ x }}")
    monkeypatch.setattr(templates, "data_folder", lambda _: tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)

    def text() -> str:
        return templates.environment.__wrapped__().get_template("one.j2").render({"x": 1})

    assert text() == text() == "a 1"
    (kept,) = (tmp_path / "__pycache__").iterdir()
    good = kept.read_bytes()
    kept.write_bytes(good.replace(b"a ", b"b "))
    assert text() == "b 1"  # it is what is run
    for bad in (b"", good[:-5], good[:20]):
        kept.write_bytes(bad)
        assert text() == "a 1"
    (tmp_path / "one.j2").write_text("c {{ x }}")
    assert text() == "c 1"
    kept.unlink()
    kept.parent.rmdir()
    kept.parent.write_text("no folder")
    assert text() == "c 1"
