"""Commands on two operators load what they need alone: modules are counted, as times say little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert not [name for name in ours if name.startswith("opwright_codegen.targets.bindings.t")]
    assert len(ours) <= 180, len(ours)
    assert len(found) <= 345, len(found)


def test_show_reads_no_grammar(project: Path) -> None:
    found = loaded(project, "show", "soft")
    assert "jinja2" in found and not found & {"lark", "numpy", "rich", "sympy", "opwright", "opwright_core"}


def test_a_run_that_has_nothing_to_do_reads_nothing(project: Path) -> None:
    found = loaded(project, "generate")
    assert not found & {"lark", "jinja2", "yaml", "numpy", "opwright", "opwright_codegen.read.files"}
    assert len([name for name in found if name.startswith("opwright_codegen")]) <= 30
    assert len(found) <= 150, len(found)
