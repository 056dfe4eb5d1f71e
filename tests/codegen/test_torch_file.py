"""PyTorch's own schema file through the generator: a package that imports, and every operator of it callable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from known_versions import RENAMED

from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.output.render import render

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

NATIVE = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
ROOT = Path(__file__).parents[2]

# Runs with the package in the place of opwright_aten: both declare ATen's operators. Calls each operator with values
# made from its declared types, and prints what was raised.
PROGRAM = """
import json, sys, warnings
import numpy as np
import opwright
from opwright_core.dispatch.registry.tables import registry
from opwright_aten import ops

warnings.simplefilter("ignore")
tensor = opwright.tensor([[1.0, 2.0], [3.0, 4.0]])
SAMPLES = {
    "int": 1, "SymInt": 1, "float": 1.0, "bool": True, "str": "a", "Scalar": 2.5, "number": 2.5,
    "ScalarType": "float32", "Device": "cpu", "Layout": opwright.strided, "MemoryFormat": opwright.preserve_format,
    "Generator": opwright.Generator(), "DeviceIndex": 0, "Storage": None, "Stream": None,
}

def sample(text):
    if text.endswith("?"):
        return sample(text[:-1])
    if text.endswith("]"):
        head, _, size = text[:-1].rpartition("[")
        return [sample(head)] * int(size or 2)
    if text == "Tensor":  # a new one, since calls write to theirs
        return opwright.tensor([[1.0, 2.0], [3.0, 4.0]])
    return SAMPLES[text]

outcomes = {}
for name, operator in registry.operators.items():
    values = [sample(argument[1].replace("(a!)", "")) for argument in operator.arguments]
    split = len(values) if operator.kwarg_only is None else operator.kwarg_only
    named = {argument[0]: value for argument, value in zip(operator.arguments[split:], values[split:])}
    try:
        operator.stub(*values[:split], **named)
        outcomes[name] = "returned"
    except Exception as error:
        outcomes[name] = f"{type(error).__name__}: {error}"

by_name = {}
for keyword in ("from", "from_"):
    try:
        ops.random__from(tensor, **{keyword: 1, "to": 2})
    except Exception as error:
        by_name[keyword] = f"{type(error).__name__}: {error}"
SHADOWING = "abs all any max min pow range round slice sum".split()
shadows = {name: callable(getattr(ops, name)) for name in SHADOWING}
packets = {}
for name in shadows:
    try:
        getattr(opwright.ops.aten, name)(tensor)
    except Exception as error:
        packets[name] = type(error).__name__
json.dump({"outcomes": outcomes, "by_name": by_name, "shadows": shadows, "packets": packets}, sys.stdout)
"""


# Before and after the same calls of a package beside opwright_aten.
BEFORE = """
from opwright_aten import methods as own_methods, ops as own
first = set(registry.operators)
function, method, table = opwright.add, opwright.Tensor.add, dict(opwright.ops.aten.add.Tensor.registrations)
"""
AFTER = """
tensor = opwright.tensor([1.0, 2.0])
total = opwright.add(tensor, tensor)
beside = {
    "function": opwright.add is function and own.add is function and ops.add is not function,
    "method": opwright.Tensor.add is method,
    "Python operator": getattr(opwright.Tensor.__add__, "python", opwright.Tensor.__add__) is own_methods.__add__,
    "new method": opwright.Tensor.to_mkldnn is ops.to_mkldnn,
    "shared": ops._add_Tensor is own._add_Tensor is opwright.ops.aten.add.Tensor,
    "kernels": dict(opwright.ops.aten.add.Tensor.registrations) == table,
    "sums": [total.tolist(), (tensor + tensor).tolist(), ops.add(tensor, tensor).tolist(), ops.add(tensor, 2).tolist()],
    "bound": sum(any("opwright_aten" in repr(registration.kernel) for registrations in operator.registrations.values()
        for registration in registrations) for operator in registry.operators.values()),
}
json.dump({"outcomes": outcomes, "first": sorted(first), "beside": beside}, sys.stdout)
"""


@pytest.fixture(scope="module")
def declared() -> DeclaredSet:
    inputs = Inputs(NATIVE, (NATIVE / "native_functions.yaml",), NATIVE / "tags.yaml", "aten", strict=False)
    (found,) = declare(inputs).values()
    return found


@pytest.fixture(scope="module")
def package(declared: DeclaredSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the package."""
    folder = tmp_path_factory.mktemp("torch")
    files = render(declared)
    for name, text in files.items():
        (folder / "opwright_aten" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "opwright_aten" / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def report(package: Path) -> dict[str, Any]:
    """What the calls gave."""
    path = os.pathsep.join((str(package), str(ROOT / "runtime"), str(ROOT / "codegen")))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


# Declared otherwise here, since they copy; one operator has one declaration in a process.
CONJUGATES = ("conj", "mH", "adjoint", "matrix_H")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the calls gave in a package of another name, made by the command, beside opwright's own."""
    folder = tmp_path_factory.mktemp("beside")
    text = (NATIVE / "native_functions.yaml").read_text(encoding="utf-8")
    for name in CONJUGATES:
        assert f"{name}(Tensor(a) self) -> Tensor(a)" in text
        text = text.replace(f"func: {name}(Tensor(a) self) -> Tensor(a)", f"func: {name}(Tensor self) -> Tensor")
    for name in RENAMED:
        assert f"func: {name}(Tensor grad_output," in text
        text = text.replace(f"func: {name}(Tensor grad_output,", f"func: {name}(Tensor grad,")
    (folder / "native_functions.yaml").write_text(text, encoding="utf-8")
    command = ["-m", "opwright_codegen.cli", "generate", "native_functions.yaml"]
    command += ["--namespace", "aten", "--tags", str(NATIVE / "tags.yaml"), "-o", "torch_ops"]
    path = os.pathsep.join(str(p) for p in (folder, ROOT / "runtime", ROOT / "codegen", ROOT / "generated"))
    calls = PROGRAM.replace("from opwright_aten import ops\n", BEFORE + "from torch_ops import ops\n")
    program = calls[: calls.index("by_name = {}")] + AFTER
    for arguments in (command, ["-c", program]):
        environment = {**os.environ, "PYTHONPATH": path}
        ran = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env=environment, check=False
        )
        assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_a_package_of_another_name_has_every_operator(declared: DeclaredSet, beside: dict[str, Any]) -> None:
    assert set(declared.operators.operators) <= set(beside["outcomes"])


def test_operators_of_both_packages_are_shared(beside: dict[str, Any]) -> None:
    own = dict(beside["beside"])
    assert own.pop("bound") > 400
    assert own.pop("sums") == [[2.0, 4.0], [2.0, 4.0], [2.0, 4.0], [3.0, 4.0]]
    assert own == dict.fromkeys(own, True)


def test_shared_operators_run_and_the_others_raise_dispatch_errors(beside: dict[str, Any]) -> None:
    """Values made from types alone do not suit every kernel, whose words then are PyTorch's."""
    said = beside["outcomes"]
    assert said["aten::add.Tensor"] == said["aten::sum"] == "returned"
    assert said["aten::to_mkldnn"].startswith("DispatchError: ")
    assert "to_mkldnn" in said["aten::to_mkldnn"]
    errors = ("DispatchError", "RuntimeError", "IndexError", "ValueError", "ArgumentError", "LinAlgError")
    allowed = ("returned", *(f"{error}: " for error in errors))
    other = {name: text for name, text in said.items() if not text.startswith(allowed)}
    assert other == {}
    only_theirs = {name: text for name, text in said.items() if name not in beside["first"]}
    assert all(text.startswith("DispatchError: ") for text in only_theirs.values())
    assert "aten::to_mkldnn" in only_theirs


def test_every_operator_is_there(declared: DeclaredSet, report: dict[str, Any]) -> None:
    assert len(declared.operators.operators) > 3000
    assert sorted(report["outcomes"]) == sorted(declared.operators.operators)


def test_every_stub_raises_a_dispatch_error(report: dict[str, Any]) -> None:
    other = {name: said for name, said in report["outcomes"].items() if not said.startswith("DispatchError: ")}
    assert other == {}


def test_the_error_names_the_declared_kernels(declared: DeclaredSet, report: dict[str, Any]) -> None:
    said = report["outcomes"]["aten::add.Tensor"]
    assert "aten::add.Tensor" in said
    assert "ufunc_add_CPU" in said


def test_an_argument_whose_name_is_a_keyword_is_passed_by_either_name(report: dict[str, Any]) -> None:
    assert set(report["by_name"]) == {"from", "from_"}
    assert all(said.startswith("DispatchError: ") for said in report["by_name"].values())


def test_operators_named_like_builtins_are_called_as_such(report: dict[str, Any]) -> None:
    assert all(report["shadows"].values())
    assert set(report["packets"]) == set(report["shadows"])


def test_output_is_clean_for_ruff(package: Path) -> None:
    for command in (("check",), ("format", "--check", "--diff")):
        arguments = [sys.executable, "-m", "ruff", *command, "--config", "pyproject.toml", str(package)]
        ran = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout[:5000]
