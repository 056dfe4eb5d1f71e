"""References: what a schema file names, what follows from an expression or a composite, and PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opwright_aten  # noqa: F401 (which defines ATen)
from opwright.library import Library
from opwright_codegen.cli import main
from opwright_core.dispatch.call.operator import find_operator
from opwright_gate import meanings
from opwright_gate.cases import Array, Case
from opwright_gate.command import main as gate_words
from opwright_gate.meanings import named_reference, reference_of, torch_line
from opwright_gate.references import given_by_reference
from opwright_gate.run import gate
from opwright_gate.subjects import Subject
from opwright_gate.variations import variations
from opwright_gate.verdicts import Verdict

SCHEMAS = """\
- func: {0}::curve(Tensor self) -> Tensor
  meta: pointwise(self, kind="int_to_float")
  reference: numpy.cosh
  dispatch:
    CPU: xp.sinh(self)
  autogen: curve.out

- func: {0}::soft(Tensor self, int dim) -> Tensor
  meta: like(self)
  reference: aten::softmax.int
  dispatch:
    CPU: xp.exp(self) / xp.sum(xp.exp(self), dim, keepdims=True)

- func: {0}::blend(Tensor self, Tensor other, *, float by=0.5) -> Tensor
  meta: pointwise(self, other)
  reference: {0}_meant.blend
  dispatch:
    CPU: self + (other - self) * by

- func: {0}::spread(Tensor self, Tensor other) -> Tensor
  kernel: self * 2 + other
  dtypes: float32, float64
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    name = "refs_of_files"
    folder = tmp_path_factory.mktemp(name)
    (folder / "ops.yaml").write_text(SCHEMAS.format(name))
    (folder / f"{name}_meant.py").write_text("def blend(x, y, by=0.25):\n    return x + (y - x) * by\n")
    (folder / "pyproject.toml").write_text(f'[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "{name}"\n')
    assert main(["generate", "--config", str(folder / "pyproject.toml")]) == 0
    sys.path.insert(0, str(folder))
    __import__(name)
    yield name
    sys.path.remove(str(folder))


def found(package: str, operator: str, *properties: str) -> dict[str, Verdict]:
    report = gate([f"{package}::{operator}"], modules=[package], properties=[*properties, "values-are-right"], jobs=1)
    return {each.property: each for each in report.verdicts}


def test_a_package_lists_its_references_and_imports_none(package: str) -> None:
    listed = __import__(f"{package}.references").references.REFERENCES
    assert listed == {
        "curve": "numpy:cosh",
        "curve.out": "numpy:cosh",
        "soft": "aten::softmax.int",
        "blend": f"{package}_meant:blend",
    }
    said = named_reference(f"{package}::curve")
    assert said is not None and said.said == "numpy.cosh"


@pytest.mark.parametrize("operator", ["curve", "curve.out"])
def test_a_function_of_numpy_says_what_values_mean(package: str, operator: str) -> None:
    verdict = found(package, operator)["values-are-right"]
    assert (verdict.verdict, verdict.cause) == ("broken", "wrong-values")
    assert "and numpy.cosh gives" in verdict.why


def test_an_operator_says_what_values_mean(package: str) -> None:
    """Its large values overflow: PyTorch's do not."""
    verdict = found(package, "soft")["values-are-right"]
    assert verdict.verdict == "broken" and "and aten::softmax.int gives" in verdict.why


def test_a_function_of_the_project_has_defaults_of_its_own(package: str) -> None:
    verdicts = found(package, "blend", "declared-as-reference")
    assert verdicts["values-are-right"].verdict == "held"
    assert verdicts["declared-as-reference"].cause == "default-differs"
    assert "by is 0.5 by default" in verdicts["declared-as-reference"].why


def test_an_expression_is_its_own_reference_in_numpy(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = find_operator(f"{package}::spread")
    x, y = np.array([1.0, 2.0], np.float32), np.array([0.5, -1.0], np.float32)
    case = Case((Array(x), Array(y)))
    module = __import__(f"{package}.kernels_cpu.ops").kernels_cpu.ops
    loops = SimpleNamespace(spread=lambda plan, *operands: np.zeros(2, np.float32))
    monkeypatch.setattr(module, "native", loops)
    known = reference_of(operator, operator.name)
    assert known is not None and known.said.startswith("its expression")
    (given,) = given_by_reference(Subject(operator.name, operator), case)
    assert given.dtype == np.float64 and given.tolist() == [2.5, 3.0]


def test_a_composite_says_what_a_kernel_means() -> None:
    library = Library("refs_composite", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor x) -> Tensor")
    for name in ("f", "g"):
        library.impl(name, lambda x: x * 2 + 1, "CompositeImplicitAutograd")
    library.impl("f", lambda x: x * 2 + 1.5, "CPU")
    known = reference_of(find_operator("refs_composite::f"), "refs_composite::f")
    assert known is not None and known.said.startswith("its composite")
    assert known(np.array([1.0]))[0].tolist() == [3.0]
    assert (
        reference_of(find_operator("refs_composite::g"), "refs_composite::g") is None
    )  # there is no kernel to be compared


def test_without_pytorch_there_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(meanings, "find_spec", lambda name: None)
    assert gate_words(["aten::cosh", "--reference", "torch", "-q"]) == 2
    assert capsys.readouterr().err == (
        "opwright gate: --reference torch needs PyTorch, which is not installed: pip install torch\n"
    )


def verdicts_by_torch(targets: list[str], *properties: str, **words: Any) -> dict[tuple[str, str], Verdict]:
    modules = [torch_line(), "opwright_aten"]
    report = gate(targets, modules=modules, properties=properties, jobs=1, **words)
    return {(each.operator, each.property): each for each in report.verdicts}


@pytest.mark.oracle
def test_pytorch_says_what_operators_of_its_names_mean() -> None:
    pytest.importorskip("torch")
    names = ["aten::cosh", "aten::sum.dim_IntList", "aten::mul.Tensor"]
    verdicts = verdicts_by_torch(names, "values-are-right", "declared-as-reference")
    assert {each.verdict for each in verdicts.values()} == {"held"} and len(verdicts) == 6


@pytest.mark.oracle
def test_pytorch_says_nothing_of_others(tmp_path: Path) -> None:
    file = tmp_path / "refs_others.py"
    file.write_text(
        "import opwright\n"
        "op = opwright.library.custom_op('refs_others::f', lambda x: x + 1, mutates_args=(), "
        "schema='(Tensor x) -> Tensor')\n"
        "op.register_fake(lambda x: x.new_empty(x.shape))\n"
    )
    pytest.importorskip("torch")
    report = gate(["refs_others"], modules=[torch_line(), str(file)], properties=["values-are-right"])
    assert [each.cause for each in report.verdicts] == ["unproved"]


@pytest.mark.oracle
def test_pytorch_knows_what_results_look_like(tmp_path: Path) -> None:
    """A mutant of `sqrt` that keeps integers, and one of `sum` whose default is another."""
    file = tmp_path / "refs_looks.py"
    file.write_text(
        "import opwright\nfrom opwright_gate.meanings import named_reference\n"
        "from opwright_gate.references import reference\n"
        "library = opwright.library.Library('refs_looks', 'DEF')\n"
        "for name, of in (('sqrt', 'aten::sqrt'), ('sum', 'aten::sum.dim_IntList')):\n"
        "    reference(f'refs_looks::{name}', named_reference(of))\n"
        "library.define('sqrt(Tensor self) -> Tensor')\n"
        "library.define('sum(Tensor self, int[1]? dim, bool keepdim=True, *, ScalarType? dtype=None) -> Tensor')\n"
        "library.impl('sqrt', lambda x: opwright.sqrt(x).to(x.dtype), 'CompositeImplicitAutograd')\n"
        "library.impl('sum', lambda x, dim, keepdim=True, *, dtype=None: opwright.sum(x, dim, keepdim, dtype=dtype), "
        "'CompositeImplicitAutograd')\n"
    )
    pytest.importorskip("torch")
    properties = ["values-are-right", "declared-as-reference"]
    modules = [torch_line(), "opwright_aten", str(file)]
    report = gate(["refs_looks"], modules=modules, properties=properties, jobs=1)
    causes = {(each.operator, each.cause) for each in report.verdicts if each.verdict == "broken"}
    assert ("refs_looks::sum", "default-differs") in causes
    assert ("refs_looks::sqrt", "wrong-dtype") in causes or ("refs_looks::sqrt", "wrong-values") in causes


WRONG_GRADIENTS = """\
import opwright
from opwright_gate.meanings import named_reference
from opwright_gate.references import reference

for name, of in (("relu", "aten::relu"), ("half", "aten::sin")):
    reference(f"refs_slopes::{name}", named_reference(of))


@opwright.library.custom_op("refs_slopes::relu", mutates_args=(), schema="(Tensor self) -> Tensor")
def relu(x):
    return opwright.relu(x) + 0


@opwright.library.custom_op("refs_slopes::half", mutates_args=(), schema="(Tensor self) -> Tensor")
def half(x):
    return opwright.sin(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def at_zero(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * (x >= 0)


def raising(ctx, grad):
    raise ValueError("the gradient does not work, it must be mended")


for op, backward in ((relu, at_zero), (half, raising)):
    op.register_fake(lambda x: x.new_empty(x.shape))
    op.register_autograd(backward, setup_context=keep)
"""


@pytest.mark.oracle
def test_pytorch_knows_gradients(tmp_path: Path) -> None:
    """That at 0, where differences say nothing, and that there is one where ours raises."""
    pytest.importorskip("torch")
    file = tmp_path / "refs_slopes.py"
    file.write_text(WRONG_GRADIENTS)
    modules = [torch_line(), "opwright_aten", str(file)]
    report = gate(["refs_slopes"], modules=modules, properties=["derivatives-as-reference"], jobs=1)
    found = {each.operator: each for each in report.verdicts if each.verdict == "broken"}
    assert found["refs_slopes::relu"].cause == "gradient-as-reference"
    assert found["refs_slopes::half"].cause == "gradient-raises"


def test_variations_of_a_call() -> None:
    operator = find_operator("aten::slice.Tensor")
    case = Case((Array(np.zeros((2, 3))), 0, None, None, 1))
    seen = {each.values[1:] for each in variations(operator, case)}
    assert {(1, None, None, 1), (-1, None, None, 1), (0, 1, 1, 1), (1, 1, 1, 1)} <= seen
    words = {each.values[4] for each in variations(find_operator("aten::scatter.reduce"), SCATTER)}
    assert {"add", "multiply"} <= words


SCATTER = Case((Array(np.zeros(3)), 0, Array(np.zeros(1, np.int64)), Array(np.zeros(1)), "sum"))
