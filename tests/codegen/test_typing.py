"""What type checkers know of the package, from programs of users."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from python_copies import run_python
from type_checking import mypy

import opwright
from opwright_codegen.cli import main

ROOT = Path(__file__).parents[2]
PYRIGHT = Path(sys.executable).with_name("basedpyright")  # pyright with the program that runs it
needs_pyright = pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright comes with the oracle: make test ORACLE=1")
USER_PROGRAM = Path(__file__).with_name("user_program.py")

# Each expression, and its type.
REVEALED = {
    "opwright.add(t, t)": "Tensor",
    "opwright.add(t, 2, alpha=3)": "Tensor",
    "opwright.add(a, a)": "ndarray",
    "opwright.add(a, 2.0)": "ndarray",
    "opwright.add(t, a)": "Tensor",
    "opwright.add(a, t, alpha=2)": "Tensor",
    "opwright.add(a, t, out=a)": "ndarray",
    "opwright.add_(a, t)": "ndarray",
    "opwright.equal(a, t)": "bool",
    "opwright.addmm(a, a, t)": "Tensor",
    "opwright.addmm(a, a, a)": "ndarray",
    "opwright.max(a, t)": "Tensor",
    "opwright.linear(a, a, t)": "Tensor",
    "opwright.layer_norm(a, [2], bias=t)": "Tensor",
    "opwright.layer_norm(a, [2], a)": "ndarray",
    "opwright.topk(a, 1).values": "ndarray",
    "opwright.ops.aten.add(t, a)": "Tensor",
    "opwright.ops.aten.add(a, a)": "ndarray",
    "opwright.ops.aten.add.Tensor(a, t)": "Tensor",
    "opwright.ops.aten.add.Tensor(a, a)": "ndarray",
    "opwright.max(t, 1).values": "Tensor",
    "t.max(1).indices": "Tensor",
    "opwright.max(t, 1)[0]": "Tensor",
    "opwright.zeros([2, 3])": "Tensor",
    "opwright.zeros(2, 3).view(3, 2)": "Tensor",
    "opwright.split(t, 1)": "tuple[Tensor, ...]",
    "t.chunk(2)": "tuple[Tensor, ...]",
    "opwright.ops.aten.chunk(t, 2)": "list[Tensor]",
    "t.shape": "Size",
    "t.shape[:1]": "Size",
    "opwright.equal(t, t)": "bool",
    "opwright.ops.aten.add(t, t)": "Tensor",
    "opwright.ops.aten.add.Tensor(t, t)": "Tensor",
    "opwright.ops.aten.t.default(t)": "Tensor",
    "opwright.ops.aten.add.Tensor.name": "str",
    "t.add(t)": "Tensor",
    "t.sum(0, keepdim=True)": "Tensor",
    "t.sum(axis=0, keepdims=True)": "Tensor",
    "opwright.sum(input=t, dim=0)": "Tensor",
    "opwright.add(x1=a, x2=a)": "ndarray",
    "opwright.cat([t, t], axis=0)": "Tensor",
    "t + 1": "Tensor",
    "2 - t": "Tensor",
    "t == t": "Tensor",
    "opwright.zeros(2, requires_grad=True)": "Tensor",
    "t.new_zeros(2, requires_grad=True)": "Tensor",
    "scaled(t, 2.0)": "Tensor",
    "scaled._opoverload.name": "str",
    "clipped(a)": "ndarray",
    "clipped(t)": "Tensor",
}
REFUSED = (
    'opwright.add(t, "x")',
    "opwright.ops.aten.add.Tensor(t)",
    "t.add_Tensor(t)",
    "opwright.zeros(2.5)",
    "t.sum(axes=0)",
    'scaled(t, "x")',
    "scaled(t)",
    'clipped("x")',
)
PROGRAM = "\n".join(
    (
        "import numpy as np",
        "import opwright",
        "from numpy.typing import NDArray",
        "t = opwright.tensor([1.0])",
        "a: NDArray[np.float32] = np.ones(2, np.float32)",
        '@opwright.library.custom_op("typed::scaled", mutates_args=())',
        "def scaled(x: opwright.Tensor, by: float) -> opwright.Tensor: return x * by",
        '@opwright.library.custom_op("typed::clipped", mutates_args=())',
        "def clipped(x: NDArray[np.float32]) -> NDArray[np.float32]: return np.clip(x, 0, 1)",
        *(f"reveal_type({expression})" for expression in REVEALED),
        *REFUSED,
        "",
    )
)
# What takes a function, and is given a lambda: its argument is a Tensor. With the type that pyright sees.
LAMBDAS = {
    "func.grad(lambda t: t.sin().sum())(x)": "Tensor",
    "func.grad(lambda t, u: (t.sin() * u.cos()).sum())(x, x)": "Tensor",
    "func.grad(lambda t: (t.sin().sum(), t.cos()), has_aux=True)(x)": "tuple[Tensor, Tensor]",
    "func.grad(lambda t, u: (t * u.sin()).sum(), argnums=(0, 1))(x, x)": "tuple[Any, ...]",
    "func.grad(func.grad(lambda t: t.sin().sum()))(x)": "Tensor",
    "func.grad_and_value(lambda t: t.sin().sum())(x)": "tuple[Tensor, Tensor]",
    "func.grad_and_value(lambda t: (t.sin().sum(), t.cos()), has_aux=True)(x)": "tuple[Tensor, tuple[Tensor, Tensor]]",
    "func.jacrev(lambda t: t.sin())(x)": "Tensor",
    "func.jacfwd(lambda t: (t.sin(), t.cos()), has_aux=True)(x)": "tuple[Tensor, Tensor]",
    "func.hessian(lambda t: t.sin().sum())(x)": "Tensor",
    "func.jvp(lambda t, u: t.sin() * u.sin(), (x, x), (x, x))": "tuple[Tensor, Tensor]",
    "func.vjp(lambda t: t.sin(), x)[0]": "Tensor",
    "func.linearize(lambda t: t.sin(), x)[0]": "Tensor",
    "opwright.vmap(func.grad(lambda t: t.sin()))(x)": "Tensor",
    "opwright.vmap(lambda t, u: t.sin() * u.sin(), in_dims=(0, None))(x, x)": "Unknown",
    "func.functionalize(lambda t: t.sin())(x)": "Unknown",
    "autograd.functional.jacobian(lambda t: t.sin(), x)": "Any",
    "autograd.functional.hvp(lambda t: t.sin().sum(), x, x)": "Any",
    "autograd.gradcheck(lambda t: t.sin(), (x,))": "bool",
    "func.grad(lambda_free)(w, x)": "dict[str, Tensor]",
    "func.grad_and_value(lambda_free)(w, x)": "tuple[dict[str, Tensor], Tensor]",
}
LAMBDA_PROGRAM = "\n".join(
    (
        "import opwright",
        "from opwright import autograd, func",
        "x = opwright.ones(3)",
        'w: dict[str, opwright.Tensor] = {"w": x}',
        "def lambda_free(p: dict[str, opwright.Tensor], y: opwright.Tensor) -> opwright.Tensor:",
        '    return (p["w"] * y).sum()',
        *(f"reveal_type({expression})" for expression in LAMBDAS),
        "",
    )
)
FIRST = 10  # the line of the first reveal_type
FIRST_REFUSED = FIRST + len(REVEALED)


def simplified(shown: str) -> str:
    """A type as both checkers show it: without modules and type arguments of arrays."""
    shown = re.sub(r"\b(?:builtins|opwright_core\.tensors\.tensor|opwright_core\.arrays\.size|numpy)\.", "", shown)
    return re.sub(r"ndarray\[.*\]", "ndarray", shown)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What pyright says of each program, which it reads at once. It finds the packages where the environment has them,
    as with a user: those of `extraPaths` are taken for the program's own, of which all may be imported."""
    folder = tmp_path_factory.mktemp("pyright")
    names = [name for name in dir(opwright) if name not in ("_subclasses", "__version__")]
    every = "import opwright\n" + "".join(f"reveal_type(opwright.{name})\n" for name in names)
    (folder / "names.py").write_text(every, encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "lambdas.py").write_text(LAMBDA_PROGRAM, encoding="utf-8")
    shutil.copy(USER_PROGRAM, folder)
    _generate_struck(folder)
    config = {"pythonVersion": "3.11", "typeCheckingMode": "standard", "exclude": ["struck_ops"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    arguments = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    said = json.loads(ran.stdout)
    assert said["summary"]["filesAnalyzed"] == 5
    found: dict[str, list[dict[str, Any]]] = {path.name: [] for path in folder.glob("*.py")}
    for each in said["generalDiagnostics"]:
        found[Path(each["file"]).name].append(each)
    return found


@pytest.fixture
def user_program(tmp_path: Path) -> Path:
    """A copy outside the clone, whose settings are not those of a user."""
    return Path(shutil.copy(USER_PROGRAM, tmp_path))


@pytest.mark.once  # a type checker reads files
def test_mypy(program: Path) -> None:
    said = mypy(program)
    revealed = re.findall(r':(\d+): note: Revealed type is "(.*)"', said)
    assert [simplified(shown) for _, shown in revealed] == list(REVEALED.values()), said
    lines = {int(line) for line in re.findall(r"program\.py:(\d+): error:", said)}
    assert lines == {FIRST_REFUSED + i for i in range(len(REFUSED))}, said


@needs_pyright
def test_lambdas_take_tensors(pyright: dict[str, list[dict[str, Any]]]) -> None:
    found = pyright["lambdas.py"]
    assert [each["message"] for each in found if each["severity"] == "error"] == []
    shown = [each["message"].rpartition(' is "')[2].rstrip('"') for each in found]
    assert shown == list(LAMBDAS.values())


@needs_pyright
def test_pyright(pyright: dict[str, list[dict[str, Any]]]) -> None:
    found = pyright["program.py"]
    revealed = [entry["message"] for entry in found if entry["severity"] == "information"]
    shown = [simplified(re.fullmatch(r'Type of ".*" is "(.*)"', text, re.DOTALL)[1]) for text in revealed]  # type: ignore[index]
    assert shown == list(REVEALED.values())
    lines = {entry["range"]["start"]["line"] + 1 for entry in found if entry["severity"] == "error"}
    assert lines == {FIRST_REFUSED + i for i in range(len(REFUSED))}, found


@pytest.mark.once  # a type checker reads files
def test_a_users_program_in_mypy(user_program: Path) -> None:
    assert mypy(user_program) == "Success: no issues found in 1 source file\n"


@needs_pyright
def test_a_users_program_in_pyright(pyright: dict[str, list[dict[str, Any]]]) -> None:
    assert pyright[USER_PROGRAM.name] == []


DEPRECATED = """
- func: struck::soft(Tensor self, Scalar limit=1.0) -> Tensor
  variants: function, method
  meta: pointwise(self)
  upgrade: {2: self.soft(limit=lambd)}
- func: struck::gone(Tensor self) -> Tensor
  variants: function, method
  meta: pointwise(self)
  deprecated: {since: 1.1, use: soft, message: 'it was "slow", and of a length that takes more than one line here'}
- func: struck::gone.int(Tensor self, int a) -> Tensor
  meta: pointwise(self)
"""
CALLS = """\
# mypy: enable-error-code="deprecated"
# pyright: reportDeprecated=true
import opwright
from struck_ops import ops
from struck_ops.methods import TensorMethods

def told(x: opwright.Tensor, y: TensorMethods) -> None:
    ops.gone(x)
    ops.soft(x, lambd=1)
    ops.gone_default(x)
    ops.soft_v1(x, 1)
    y.gone()
    y.soft(lambd=2)
    ops.soft(x, limit=1)
    ops.gone(x, 2)
    ops.gone_int(x, 2)
    y.soft(limit=2)
"""
STRUCK = [8, 9, 10, 11, 12, 13]  # the lines of calls of what is deprecated


def _generate_struck(folder: Path) -> None:
    """Write a program that calls what is deprecated, and the package that it calls."""
    (folder / "ops.yaml").write_text(DEPRECATED)
    assert main(["generate", str(folder / "ops.yaml"), "-o", str(folder / "struck_ops")]) == 0
    (folder / "struck.py").write_text(CALLS)


@pytest.mark.once
def test_calls_of_what_is_deprecated_are_struck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PEP 702, for editors and type checkers; overloads that are not deprecated stay as they are."""
    monkeypatch.chdir(tmp_path)
    _generate_struck(tmp_path)
    said = mypy(tmp_path / "struck.py")
    lines = [int(line) for line in re.findall(r"struck\.py:(\d+): error: .* is deprecated: .*\[deprecated\]", said)]
    assert lines == STRUCK and said.count("error:") == len(lines), said
    assert "struck::gone is deprecated: since 1.1: use soft: it was 'slow', and of a length that takes more" in said


@needs_pyright
def test_calls_of_what_is_deprecated_are_struck_by_pyright(pyright: dict[str, list[dict[str, Any]]]) -> None:
    found = {each["range"]["start"]["line"] + 1: each for each in pyright["struck.py"]}
    assert sorted(found) == STRUCK and {each["rule"] for each in found.values()} == {"reportDeprecated"}, found
    assert "since 1.1: use soft: it was 'slow'" in found[STRUCK[0]]["message"]


@needs_pyright
def test_every_public_name_is_exported(pyright: dict[str, list[dict[str, Any]]]) -> None:
    """No name is private to pyright, nor Any: modules that are loaded later, functions that are generated."""
    found = pyright["names.py"]
    assert [entry["message"] for entry in found if entry["severity"] == "error"] == []
    assert [entry["message"] for entry in found if re.search(r'is "(Any|Unknown)"$', entry["message"])] == []


def test_a_way_to_call_is_declared_once() -> None:
    """Functions, packets and operators that are called alike share a class: of their part, or of `calls.pyi`."""
    folder = ROOT / "generated" / "opwright_aten"
    found: dict[str, str] = {}
    for path in (folder / "calls.pyi", *(folder / "ops").glob("*.pyi")):
        own = {each.name: "\n".join(map(ast.unparse, each.body)) for each in _classes(path) if "Call_" in each.name}
        found |= {f"{path.stem}.{name}": text for name, text in own.items()}
        if path.stem == "calls":
            assert list(own) == sorted(own)  # so one that is added moves no other
        assert not [each for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)], path.name
    assert len(found) == len(set(found.values())) > 1000


def _classes(path: Path) -> list[ast.ClassDef]:
    return [each for each in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(each, ast.ClassDef)]


def test_a_users_program_runs() -> None:
    ran = run_python(USER_PROGRAM, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
