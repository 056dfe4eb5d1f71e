"""Rules that torchgen has for ATen: errors there, advice in other namespaces, where each is served."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opwright_codegen.cli import main
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.files import read_text
from opwright_codegen.read.rule import OF_ATEN

BROKEN = {
    "reserved-suffix": ["scaled_out(Tensor x) -> Tensor"],
    "reserved-overload": ["f.functional_x(Tensor! x) -> ()"],
    "inplace-self": ["plain_(Tensor x) -> Tensor"],
    "inplace-returns": ["step_(Tensor(a!) self) -> ()"],
    "inplace-out": ["f_(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(a!)"],
    "out-returns": ["f.out(Tensor x, *, Tensor! out) -> ()"],
    "argument-after-out": ["f(Tensor x, *, Tensor(a!) out, int n=1) -> Tensor(a!)"],
    "mutable-returned": ["f(Tensor x, Tensor(a!) y) -> Tensor(a!)"],
    "mixed-returns": ["f(Tensor x, Tensor(a!) y) -> (Tensor(a!), Tensor)"],
    "unknown-alias": ["f(Tensor x) -> Tensor(a!)"],
    "missing-seeded-tag": ["f(Tensor x, Generator? g=None) -> Tensor"],
    "inplace-view-name": ["f(Tensor x) -> Tensor\n  tags: inplace_view"],
    "missing-inplace-view-tag": ["f_(Tensor(a!) self, Tensor(b) x) -> (Tensor(a!), Tensor(b))"],
    "implicit-factory": ["new_thing(Tensor x, int n) -> Tensor"],
    "duplicate-kind": ["f.a(Tensor x) -> Tensor", "f.b(Tensor x) -> Tensor"],
    "no-functional": ["f_(Tensor(a!) self) -> Tensor(a!)", "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"],
    "functional-name": [
        *("f(Tensor x) -> (Tensor, Tensor)", "f.m(Tensor(a!) x) -> Tensor"),
        "f.out(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
    ],
}


def _file(namespace: str, code: str) -> str:
    dispatch = "" if code in ("implicit-factory", "no-functional") else "\n  dispatch:\n    CPU: kernels:f"
    return "\n".join(f"- func: {namespace}::{schema}{dispatch}" for schema in BROKEN[code])


def test_each_rule_is_here() -> None:
    assert {*BROKEN} == OF_ATEN


@pytest.mark.parametrize("code", BROKEN)
def test_an_error_in_aten_is_advice_elsewhere(code: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(_file("aten", code))
    assert code in {error.code for error in caught.value.errors}
    advice = read_text(_file("mine", code)).advice
    assert code in {each.code for each in advice}
    assert all(each.span is not None for each in advice)


def test_variants_without_a_functional_one_have_kernels_of_their_own() -> None:
    entries = [f"- func: mine::{schema}\n  dispatch:\n    CPU: f" for schema in BROKEN["no-functional"]]
    found = read_text("\n".join(entries))
    assert [*found.operators] == ["mine::f_", "mine::f.out"]
    assert [each.code for each in found.advice] == ["no-functional"]


@pytest.mark.oracle
@pytest.mark.parametrize("code", BROKEN)
def test_what_is_advised_against_pytorch_registers(code: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    with torch.library._scoped_library(f"advised_{code.replace('-', '_')}", "DEF") as library:
        for schema in BROKEN[code]:
            library.define(schema.partition("\n")[0])


@pytest.mark.parametrize(
    "schema", ["f.default(Tensor x) -> Tensor", "f(Tensor x, Tensor x) -> ()", "f(Tensor x=None) -> ()"]
)
def test_contradictions_are_errors_everywhere(schema: str) -> None:
    with pytest.raises(SchemaErrors):
        read_text(f"- func: mine::{schema}\n")


def test_check_shows_advice_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ops.yaml"
    file.write_text(_file("mine", "mutable-returned").replace("kernels:f", "f"))
    assert main(["check", str(file)]) == 0
    assert "1 piece of advice: opwright check --advice shows" in capsys.readouterr().out
    assert main(["check", "--advice", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "ops.yaml:1:44: advice: 'y' is written to and returned" in shown
    assert "^^^^^^^^^^\nhint: put it after '*'" in shown


_KERNELS = """
import numpy as np

def both(x, y):
    y += x
    return None, x * 2

def maybe(x, out):
    if out is None:
        return x * 2, x.sum()
    np.multiply(x, 2, out=out)
    return None, x.sum()

def scaled(x, out):
    np.multiply(x, 2, out=out)

def new(x):
    return x + 1
"""
_SCHEMAS = """
- func: odd::both(Tensor x, Tensor(a!) y) -> (Tensor(a!), Tensor)
  dispatch:
    CPU: kernels:both
- func: odd::maybe(Tensor x, Tensor(out!)? out=None) -> (Tensor(out!), Tensor)
  dispatch:
    CPU: kernels:maybe
- func: odd::scaled_out(Tensor x, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: kernels:scaled
- func: odd::quiet.out(Tensor x, *, Tensor! out) -> ()
  dispatch:
    CPU: kernels:scaled
- func: odd::plain_(Tensor x) -> Tensor(z!)
  dispatch:
    CPU: kernels:new
"""
_PROGRAM = """
import numpy as np
import opwright
from odd_ops import ops

x, y = opwright.ones(2), opwright.ones(2)
given, new = ops.both(x, y)
assert given is y and (y.tolist(), new.tolist(), y._version, x._version) == ([2, 2], [2, 2], 1, 0)
out = opwright.zeros(2)
given, total = ops.maybe(x, out)
assert given is out and (out.tolist(), total.item(), out._version) == ([2, 2], 2, 1)
given, total = ops.maybe(x)
assert (given.tolist(), given._version) == ([2, 2], 0)
assert ops.scaled_out(y, out) is out and out.tolist() == [4, 4]
assert opwright.ops.odd.quiet.out(x, out=out) is None and (out.tolist(), out._version) == ([2, 2], 3)
assert ops.plain_(x).tolist() == [2, 2] and x._version == 0
array = np.ones(2)
given, new = ops.both(np.ones(2), array)
assert given is array and array.tolist() == [2, 2]
values = opwright.func.functionalize(lambda x: ops.both(x, x.clone()))(x)
assert [each.tolist() for each in values] == [[2, 2], [2, 2]]
"""


@pytest.mark.once
def test_what_is_advised_against_is_served(tmp_path: Path) -> None:
    """Results that are arguments are these, if the call gave them; a kernel that makes others returns them all."""
    (tmp_path / "kernels.py").write_text(_KERNELS)
    (tmp_path / "ops.yaml").write_text(_SCHEMAS)
    assert main(["generate", str(tmp_path / "ops.yaml"), "-o", str(tmp_path / "odd_ops")]) == 0
    subprocess.run([sys.executable, "-c", _PROGRAM], cwd=tmp_path, check=True)
