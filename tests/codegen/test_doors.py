"""`bindings` of [tool.opwright]: modules beside the package, what they cannot take, and what is wrong with settings."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from opwright_codegen.cli import main

SCHEMAS = """
- func: doors::twice(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: self + self}
  autogen: twice_, twice.out

- func: doors::first(Tensor(a) self) -> Tensor(a)
  meta: view
  dispatch: {CPU: "self[0]"}
"""
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "doors_ops"\n'


def run(folder: Path, settings: str, *command: str) -> tuple[int, str, str]:
    (folder / "ops.yaml").write_text(SCHEMAS)
    (folder / "pyproject.toml").write_text(SETTINGS + settings)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(command or ("generate",)))
    return status, out.getvalue(), err.getvalue()


def test_a_module_stands_beside_the_package_and_goes_with_its_setting(tmp_path: Path) -> None:
    status, printed, _ = run(tmp_path, 'bindings = ["torch"]\n')
    assert status == 0
    assert "not given to torch: doors::first: its result shares memory with an argument" in printed
    module = tmp_path / "doors_ops_torch.py"
    text = module.read_text()
    assert 'door.define("twice(Tensor self) -> Tensor", batch=Elementwise(0))' in text
    assert 'door.define("twice_(Tensor(a!) self) -> Tensor(a!)", functional="twice")' in text
    assert "# doors::first: its result shares memory" in text and 'door.define("first' not in text
    assert run(tmp_path, 'bindings = ["torch"]\n', "generate", "--check")[0] == 0
    module.write_text(f"{text}# by hand\n")
    status, printed, _ = run(tmp_path, 'bindings = ["torch"]\n', "generate", "--check")
    assert status == 1 and "change   doors_ops_torch.py" in printed
    run(tmp_path, "")
    assert not module.exists() and (tmp_path / "doors_ops" / "ops").is_dir()


def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "doors_ops_torch.py").write_text("mine = 1\n")
    status, _, said = run(tmp_path, 'bindings = ["torch"]\n')
    assert status != 0 and "doors_ops_torch.py: exists, and was not generated" in said
    assert (tmp_path / "doors_ops_torch.py").read_text() == "mine = 1\n"


@pytest.mark.parametrize(
    "settings, said",
    [
        (
            'bindings = ["torhc"]',
            "pyproject.toml:4:13: error: operators cannot be given to 'torhc' [unknown-framework]",
        ),
        ('bindings = ["torch", "mxnet"]', "pyproject.toml:4:22: error: operators cannot be given to 'mxnet'"),
        ('bindings = "torch"', "pyproject.toml:4:1: error: a list of texts is expected for 'bindings'"),
    ],
)
def test_wrong_settings(tmp_path: Path, settings: str, said: str) -> None:
    status, _, found = run(tmp_path, f"{settings}\n")
    assert status == 2 and said in found
    assert not (tmp_path / "doors_ops").exists()


def test_names_that_pytorch_has_itself(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text("- func: prims::twice(Tensor self) -> Tensor\n  dispatch: {CPU: self + self}\n")
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}bindings = ["torch"]\n')
    out = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out):
        assert main(["generate"]) == 0
    assert "not given to torch: prims::twice: the namespace 'prims' is PyTorch's own" in out.getvalue()


HIDING = "import sys; sys.modules['torch'] = None; "


def test_generating_needs_no_framework_and_a_missing_one_is_one_line(tmp_path: Path) -> None:
    run(tmp_path, 'bindings = ["torch"]\n')
    for code, expected in (
        ("from opwright_codegen.cli import main; main(['generate', '--force'])", ""),
        ("import doors_ops", ""),
        ("import doors_ops_torch", "PyTorch is not installed, and this module gives it operators: pip install torch"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", HIDING + code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) is not bool(expected), done.stderr
        assert expected in done.stderr
        assert done.stderr.count("Traceback") <= 1
