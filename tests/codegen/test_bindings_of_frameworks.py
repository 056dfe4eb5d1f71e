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
- func: bound::twice(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: self + self}
  autogen: twice_, twice.out

- func: bound::first(Tensor(a) self) -> Tensor(a)
  meta: view
  dispatch: {CPU: "self[0]"}
"""
MORE = """
- func: bound::half(Tensor self, float by) -> Tensor
  kernel: self / by
  dtypes: float32

- func: bound::any_of(Tensor self) -> Tensor
  meta: like(self)
  tags: nondeterministic_seeded
  dispatch: {CPU: self + 1}

- func: bound::ones(int size) -> Tensor
  dispatch: {CPU: "xp.ones(size)"}

- func: bound::size(Tensor self) -> int
  dispatch: {CPU: self.size}
"""
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "bound_ops"\n'


def run(folder: Path, settings: str, *command: str, schemas: str = SCHEMAS) -> tuple[int, str, str]:
    (folder / "ops.yaml").write_text(schemas)
    (folder / "pyproject.toml").write_text(SETTINGS + settings)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(command or ("generate",)))
    return status, out.getvalue(), err.getvalue()


def test_a_module_stands_beside_the_package_and_goes_with_its_setting(tmp_path: Path) -> None:
    status, printed, _ = run(tmp_path, 'bindings = ["torch"]\n')
    assert status == 0
    assert "not given to torch: bound::first: its result shares memory with an argument" in printed
    module = tmp_path / "bound_ops_torch.py"
    text = module.read_text()
    assert 'binding.define("twice(Tensor self) -> Tensor", batch=Elementwise(0))' in text
    assert 'binding.define("twice_(Tensor(a!) self) -> Tensor(a!)", functional="twice")' in text
    assert "# bound::first: its result shares memory" in text and 'binding.define("first' not in text
    assert run(tmp_path, 'bindings = ["torch"]\n', "generate", "--check")[0] == 0
    module.write_text(f"{text}# by hand\n")
    status, printed, _ = run(tmp_path, 'bindings = ["torch"]\n', "generate", "--check")
    assert status == 1 and "change   bound_ops_torch.py" in printed
    run(tmp_path, "")
    assert not module.exists() and (tmp_path / "bound_ops" / "ops").is_dir()


def test_what_jax_is_given(tmp_path: Path) -> None:
    status, printed, _ = run(tmp_path, 'bindings = ["jax"]\n', schemas=SCHEMAS + MORE)
    assert status == 0
    text = (tmp_path / "bound_ops_jax.py").read_text()
    for name, reason in (
        ("twice.out, bound::twice_", "it writes an argument, and JAX's arrays are not written to"),
        ("any_of", "it is random, and JAX draws from keys that are passed to it"),
        ("ones", "it takes no tensor: JAX has constants of its own"),
        ("size", "it returns something else than tensors"),
    ):
        assert f"not given to jax: bound::{name}: {reason}" in printed
        assert f"# bound::{name.rpartition('::')[2]}: {reason}" in text
    assert 'first = binding.function("first", "default", constant=("default",))' in text
    assert 'open_binding("bound", "bound_ops", __name__, "_bound_jax", "' in text
    loop = (
        'native={"default":Loop("opwright_jax_half",(0,),("float32",),"",lambdagiven:(given[1],),gradients=Gradients('
    )
    assert loop in "".join(text.split())
    assert "opwright_jax_half" in (tmp_path / "bound_ops" / "native" / "bound_jax.c").read_text()


def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "bound_ops_torch.py").write_text("mine = 1\n")
    status, _, said = run(tmp_path, 'bindings = ["torch"]\n')
    assert status != 0 and "bound_ops_torch.py: exists, and was not generated" in said
    assert (tmp_path / "bound_ops_torch.py").read_text() == "mine = 1\n"


@pytest.mark.parametrize(
    "settings, said",
    [
        (
            'bindings = ["torhc"]',
            "pyproject.toml:4:13: error: no binding 'torhc' is installed [unknown-framework]",
        ),
        ('bindings = ["torch", "mxnet"]', "pyproject.toml:4:22: error: no binding 'mxnet' is installed"),
        ('bindings = "torch"', "pyproject.toml:4:1: error: a list of texts is expected for 'bindings'"),
    ],
)
def test_wrong_settings(tmp_path: Path, settings: str, said: str) -> None:
    status, _, found = run(tmp_path, f"{settings}\n")
    assert status == 2 and said in found
    assert not (tmp_path / "bound_ops").exists()


def test_names_that_pytorch_has_itself(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text("- func: prims::twice(Tensor self) -> Tensor\n  dispatch: {CPU: self + self}\n")
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}bindings = ["torch"]\n')
    out = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out):
        assert main(["generate"]) == 0
    assert "not given to torch: prims::twice: the namespace 'prims' is PyTorch's own" in out.getvalue()


@pytest.mark.parametrize(("framework", "name"), [("torch", "PyTorch"), ("jax", "JAX")])
def test_generating_needs_no_framework_and_a_missing_one_is_one_line(tmp_path: Path, framework: str, name: str) -> None:
    run(tmp_path, f'bindings = ["{framework}"]\n')
    hiding = f"import sys; sys.modules['{framework}'] = None; "
    for code, expected in (
        ("from opwright_codegen.cli import main; main(['generate', '--force'])", ""),
        ("import bound_ops", ""),
        (
            f"import bound_ops_{framework}",
            f"{name} is not installed, and this module gives it operators: pip install {framework}",
        ),
    ):
        done = subprocess.run(
            [sys.executable, "-c", hiding + code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) is not bool(expected), done.stderr
        assert expected in done.stderr
        assert done.stderr.count("Traceback") <= 1


@pytest.mark.parametrize("value", ["{}", "{}; batched", "batched by {}", "... -> ...; cut by {}"])
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("elementwise()", "elementwise(): what it is called with is of no form"),
        ("elementwise(radius)", "an argument that is a tensor is expected here"),
        ("along(self, dim=-1)", "a name of an argument is expected here"),
        ("along(self, dim=self)", "an argument that is no tensor is expected here"),
        ("leading(self)", "leading(): an operand is of no form"),
        ("leading((self, self))", "leading(): an operand is of no form"),
        ("folded(self)", "folded() needs 'core'"),
        ("folded(self, core=radius)", "folded(): a value of it is of no form"),
        ("reducing(self)", "reducing() needs 'reduction'"),
        ("product(self, self)", "product(): what it is called with is of no form"),
        ("product('m k', self, self)", "product(): what it is called with is of no form"),
    ],
)
def test_calls_of_families_of_a_wrong_form(tmp_path: Path, value: str, call: str, said: str) -> None:
    found = refused(tmp_path, f'dims: "{value.format(call)}"')
    assert said in found and "[dims-family]" in found and "ops.yaml:3:" in found


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("windows(self)", "windows() needs 'dim'"),
        ("windows(self, dim=-1)", "windows() needs 'size' or 'before' or 'after'"),
        ("windows(self, dim=0.5, size=2)", "windows(): a value of it is of no form"),
        ("windows(self, self, dim=-1, size=2)", "windows(): what it is called with is of no form"),
        ("windows(self, dim=-1, sise=2)", "windows() has no 'sise'"),
    ],
)
def test_windows_of_a_wrong_form(tmp_path: Path, call: str, said: str) -> None:
    assert said in refused(tmp_path, f'dims: "{call}"')


def refused(folder: Path, line: str) -> str:
    """What `generate` says of an operator with that line."""
    (folder / "ops.yaml").write_text(
        "- func: bound::f(Tensor self, int radius) -> Tensor\n"
        f"  meta: like(self)\n  {line}\n  dispatch: {{CPU: self + 1}}\n"
    )
    (folder / "pyproject.toml").write_text(SETTINGS)
    err = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stderr(err):
        assert main(["generate"]) == 1
    assert not (folder / "bound_ops").exists()
    return err.getvalue()
