"""What type checkers know of the generated package, from a small program of a user."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYRIGHT = Path(sys.executable).with_name("basedpyright")  # pyright with the program that runs it
PATHS = [str(ROOT / folder) for folder in ("runtime", "generated", "codegen")]

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
    "clipped(a)": "Any",
    "clipped(t)": "Any",
}
# A function written by hand: pyright does not tell which of two kinds a generic argument is.
OTHERWISE_IN_PYRIGHT = {"opwright.split(t, 1)": "tuple[Any, ...]"}
REFUSED = (
    'opwright.add(t, "x")',
    "opwright.ops.aten.add.Tensor(t)",
    "t.add_Tensor(t)",
    "opwright.zeros(2.5)",
    "t.sum(axes=0)",
    'scaled(t, "x")',
    "scaled(t)",
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
FIRST = 10  # the line of the first reveal_type
FIRST_REFUSED = FIRST + len(REVEALED)


def simplified(shown: str) -> str:
    """A type as both checkers show it: without modules and type arguments of arrays."""
    shown = re.sub(r"\b(?:builtins|opwright\.tensors\.tensor|opwright\.arrays\.size|numpy)\.", "", shown)
    return re.sub(r"ndarray\[.*\]", "ndarray", shown)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_mypy(program: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports", str(program)],
        cwd=program.parent,
        env={**os.environ, "MYPYPATH": os.pathsep.join(PATHS)},
        capture_output=True,
        text=True,
        check=False,
    )
    revealed = re.findall(r':(\d+): note: Revealed type is "(.*)"', ran.stdout)
    assert [simplified(shown) for _, shown in revealed] == list(REVEALED.values()), ran.stdout
    lines = {int(line) for line in re.findall(r"program\.py:(\d+): error:", ran.stdout)}
    assert lines == {FIRST_REFUSED + i for i in range(len(REFUSED))}, ran.stdout


@pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright comes with the oracle: make test ORACLE=1")
def test_pyright(program: Path) -> None:
    config = {"extraPaths": PATHS, "pythonVersion": "3.11", "typeCheckingMode": "standard"}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    arguments = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "--project", str(program.parent)]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    revealed = [entry["message"] for entry in found if entry["severity"] == "information"]
    shown = [simplified(re.fullmatch(r'Type of ".*" is "(.*)"', text, re.DOTALL)[1]) for text in revealed]  # type: ignore[index]
    assert shown == list((REVEALED | OTHERWISE_IN_PYRIGHT).values())
    lines = {entry["range"]["start"]["line"] + 1 for entry in found if entry["severity"] == "error"}
    assert lines == {FIRST_REFUSED + i for i in range(len(REFUSED))}, found
