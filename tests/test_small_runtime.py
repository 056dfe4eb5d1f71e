"""What a package of two operators loads: a fresh process that imports it and calls both, and says what came with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.cli import main

pytestmark = pytest.mark.once

SCHEMA = """\
- func: two::scale(Tensor x, float factor) -> Tensor
  dispatch:
    CPU: two_kernels:scale
  meta: like(x)
- func: two::axpy(Tensor x, Tensor y) -> Tensor
  dispatch:
    CPU: x + y
  meta: pointwise(x, y)
"""
KERNELS = "def scale(x, factor):\n    return x * factor\n"
PROGRAM = """\
import sys

import ml_dtypes
import numpy as np

def memory():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

ones = np.ones(3, np.float32)
ones @ ones + ones.sum()
before, known = memory(), set(sys.modules)
import two_ops.ops

imported = sys.modules.keys() - known
assert two_ops.ops.scale(ones, 2.0).tolist() == [2.0, 2.0, 2.0]
called = sys.modules.keys() - known
assert two_ops.ops.axpy(ones, ones).tolist() == [2.0, 2.0, 2.0]
paths = {name: getattr(sys.modules[name], "__file__", None) for name in sys.modules.keys() - known}
steps = {"import": sorted(imported), "first call": sorted(called)}
import json

print(json.dumps({"bytes": memory() - before, "paths": paths, "steps": steps}))
"""
MOST = {"import": (78, 9_000), "first call": (95, 12_000)}  # files, lines of Python
MOST_BYTES = 10_000_000


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the process said: the memory that it took beyond NumPy, and the files of the modules that it loaded."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "ops.yaml").write_text(SCHEMA, encoding="utf-8")
    (folder / "two_kernels.py").write_text(KERNELS, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        assert main(["generate", str(folder / "ops.yaml"), "-o", str(folder / "two_ops")]) == 0
    finally:
        sys.path.remove(str(folder))
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("step", MOST)
def test_it_loads_few_files_and_lines(step: str, loaded: dict[str, Any]) -> None:
    paths = {loaded["paths"][name] for name in loaded["steps"][step] if name.startswith(("opwright", "two"))}
    files = {path for path in paths if path}
    lines = sum(len(Path(path).read_text("utf-8").splitlines()) for path in files if path.endswith(".py"))
    print(f"{step}: {len(files)} files, {lines} lines, {loaded['bytes'] / 1e6:.1f} MB")
    assert len(files) <= MOST[step][0]
    assert lines <= MOST[step][1]


def test_it_loads_nothing_slow_of_the_standard_library(loaded: dict[str, Any]) -> None:
    slow = {"difflib", "importlib.metadata", "inspect", "json", "statistics", "tempfile", "typing_extensions"}
    assert slow.isdisjoint(loaded["steps"]["first call"])


def test_it_takes_little_memory(loaded: dict[str, Any]) -> None:
    assert loaded["bytes"] <= MOST_BYTES


@pytest.mark.parametrize("part", ["opwright", "opwright_aten", "opwright_kernels._native"])
def test_it_loads_no(part: str, loaded: dict[str, Any]) -> None:
    assert [name for name in loaded["paths"] if f"{name}.".startswith(f"{part}.")] == []


EACH = """\
import opwright.creation.construction as construction
import opwright_core.tensors.tensor as module

tensor = construction.tensor([1.0, 2.0])
assert {expression}
missing = [name for name, value in vars(module.Tensor).items() if type(value).__name__ == "NotInstalled"]
assert missing == [] and "__getattr__" not in vars(module.Tensor), missing
assert (tensor + tensor).sum().item() == 6
"""
ASKED = {
    "an operator": "(tensor + 1).tolist() == [2.0, 3.0]",
    "an operator from the right": "(1 - tensor).tolist() == [0.0, -1.0]",
    "a comparison": "(tensor == tensor).all()",
    "a method": "tensor.sum().item() == 3.0",
    "an index": "tensor[1].item() == 2.0",
    "its text": "repr(tensor) == 'tensor([1., 2.])'",
    "its array": "__import__('numpy').asarray(tensor).tolist() == [1.0, 2.0]",
    "a name that nothing has": "not hasattr(tensor, 'sofmax')",
    "a function of NumPy": "__import__('numpy').add(tensor.numpy(), 1).tolist() == [2.0, 3.0]",
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_tensor_that_is_asked_for_a_method_has_all_loaded(asked: str) -> None:
    """Whoever gets a Tensor finds its methods, though no name of `opwright` itself was asked for."""
    program = EACH.format(expression=ASKED[asked])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# What is asked for by its name alone, of the tensor itself.
BY_NAME = {
    "array_namespace", "cuda_array_interface", "div", "idiv", "long", "nonzero", "rdiv", "torch_dispatch",
    "torch_function",
}  # fmt: skip


def test_every_special_method_is_expected() -> None:
    """Python looks for these in the class, where no `__getattr__` is asked."""
    program = (
        "from opwright_core.tensors.tensor import Tensor\n"
        "before = {name for base in Tensor.__mro__ if base is not object for name in vars(base)}\n"
        "import opwright.aten_setup\n"
        "after = {name for name in vars(Tensor) if name.startswith('__')}\n"
        "print(*sorted(after - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    named = [
        "array_namespace",
        "cuda_array_interface",
        "div",
        "dlpack_c_exchange_api",
        "idiv",
        "long",
        "nonzero",
        "rdiv",
        "torch_dispatch",
        "torch_function",
    ]
    assert {name.strip("_") for name in done.stdout.split()} <= set(named)


def test_the_stub_is_what_the_table_says() -> None:
    from opwright import facade_stub

    assert facade_stub.PATH.read_text("utf-8") == facade_stub.text(), "run `python -m opwright.facade_stub`"
