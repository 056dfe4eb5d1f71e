"""What decides whether `generate` has anything to do: everything that a run reads."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[2]
TRACED = """
import json, sys
opened = set()
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and "w" not in str(arguments[1] or "r"):
        opened.add(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())
sys.addaudithook(hook)
from opwright_codegen.cli import main
status = main(["generate", "--depfile", "deps"])
print(json.dumps({"status": status, "opened": sorted(opened)}), file=sys.stderr)
"""
FILES = {
    "pyproject.toml": """
[tool.opwright]
schemas = ["ops.yaml", "more.yaml"]
output = "fresh_ops"
tags = "tags.yaml"
derivatives = "derivatives.yaml"
kernels = ["fresh_kernels"]
rules = ["opwright.rules", "fresh_rules"]
gradients = ["fresh_gradients"]
uses = ["fresh_used"]
""",
    "ops.yaml": """
- func: fresh::one(Tensor self) -> Tensor
  meta: mine(self)
  dispatch: {CPU: one_kernel}
- func: fresh::two(Tensor self, int n) -> Tensor
  meta: fresh_shapes.inner:two
  dispatch: {CPU: fresh_named:two}
  tags: [quick]
""",
    "more.yaml": """
- func: fresh::three(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: self.four()}
- func: fresh::five(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: fresh_composites:five}
""",
    "tags.yaml": "- tag: quick\n  desc: quick\n",
    "derivatives.yaml": "- name: fresh::one(Tensor self) -> Tensor\n  self: one_backward(grad)\n",
    "fresh_kernels.py": "def one_kernel(self):\n    return self * 2\n",
    "fresh_rules.py": "from opwright.rules import Plan, like\ndef mine(self) -> Plan:\n    return like(self)\n",
    "fresh_shapes/__init__.py": "",
    "fresh_shapes/inner.py": "from opwright.rules import like\ndef two(self, n):\n    return like(self)\n",
    "fresh_named.py": "def two(self, n):\n    return self * n\n",
    "fresh_composites.py": "def five(self):\n    return self + 5\n",
    "fresh_gradients.py": "def one_backward(grad):\n    return grad * 2\n",
    "used.yaml": "- func: used::four(Tensor self) -> Tensor\n  variants: method\n  dispatch: {CPU: xp.exp(self)}\n",
}


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "codegen"), str(ROOT / "generated")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def generate(folder: Path, *options: str) -> str:
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main(["generate", *options])
    return out.getvalue()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    assert "done" in generate(folder, "used.yaml", "-o", "fresh_used")
    return folder


def source_of(path: str) -> str:
    """The source of a compiled module."""
    folder, name = os.path.split(path)
    if name.endswith(".pyc") and os.path.basename(folder) == "__pycache__":
        return os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")
    return path


def test_everything_that_is_read_is_hashed(project: Path) -> None:
    shutil.rmtree(project / "fresh_ops", ignore_errors=True)
    done = python(project, "-c", TRACED)
    assert done.stderr.startswith("{"), done.stdout + done.stderr
    found = json.loads(done.stderr)
    assert found["status"] == 0 and "created" in done.stdout
    others = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    read = {str(Path(source_of(name)).resolve()) for name in found["opened"] if os.path.isfile(source_of(name))}
    ours = {name for name in read if name.startswith((str(project.resolve()), str(ROOT)))}
    ours = {name for name in ours if not name.startswith(tuple(others)) and not name.endswith(".stamp")}
    assert {str(project / name) for name in FILES if name != "used.yaml"} - ours == {
        str(project / "fresh_shapes" / "__init__.py")
    }
    hashed = {str((project / word).resolve()) for word in (project / "deps").read_text().replace(":", " ").split()}
    assert not ours - hashed, ours - hashed


@pytest.mark.once  # files in, messages out
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in FILES if name not in ("used.yaml", "fresh_shapes/__init__.py")),
        "fresh_used/ops/__init__.py",
        "fresh_used/methods.py",
        "fresh_ops/kernels_cpu/ops.py",
        "fresh_ops/manifest.json",
    ],
)
@pytest.mark.parametrize("options", [(), ("--check",)], ids=["generate", "check"])
def test_a_changed_byte_of_anything_read_is_seen(project: Path, name: str, options: tuple[str, ...]) -> None:
    generate(project)
    assert "up to date" in generate(project, *options)
    path = project / name
    before = path.read_bytes()
    try:
        path.write_bytes(before + b"\n" if name.endswith((".json", ".toml", ".yaml")) else before + b"\n# changed\n")
        assert "up to date" not in generate(project, *options)
    finally:
        path.write_bytes(before)


def test_a_module_that_hides_another_is_seen(project: Path) -> None:
    generate(project)
    hiding = project / "fresh_named"
    hiding.mkdir()
    (hiding / "__init__.py").write_text(FILES["fresh_named.py"])
    try:
        assert "up to date" not in generate(project, "--check")
    finally:
        shutil.rmtree(hiding)


def test_an_annotation_in_a_module_of_rules_is_seen(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(
        "- func: annotated::f(Tensor x, int n) -> Tensor\n  meta: shp:f\n  dispatch: {CPU: k:f}\n"
    )
    (tmp_path / "k.py").write_text("def f(x, n):\n    return x\n")
    (tmp_path / "shp.py").write_text("def f(x, n):\n    pass\n")
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "annotated_ops"\n')
    generate(tmp_path)
    kernels = tmp_path / "annotated_ops" / "kernels_cpu" / "ops.py"
    before = kernels.read_text()
    (tmp_path / "shp.py").write_text("from typing import Any\ndef f(x: Any, n: Any):\n    pass\n")
    assert "up to date" not in generate(tmp_path, "--check")
    generate(tmp_path)
    assert kernels.read_text() != before
