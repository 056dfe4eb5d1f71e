"""Kernels `torch:NAMESPACE::NAME`: operators of PyTorch as kernels of ours, an operator of each kind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright
from opwright_codegen.cli import main

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

SCHEMAS = """
- func: lent::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  dispatch: {"CPU, Meta": "torch:aten::add.Tensor"}
- func: lent::add_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  dispatch: {"CPU, Meta": "torch:aten::add_.Tensor"}
- func: lent::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  dispatch: {"CPU, Meta": "torch:aten::add.out"}
- func: lent::select(Tensor(a) self, int dim, int index) -> Tensor(a)
  dispatch: {"CPU, Meta": "torch:aten::select.int"}
- func: lent::split(Tensor(a -> *) self, int size, int dim=0) -> Tensor(a)[]
  dispatch: {"CPU, Meta": "torch:aten::split.Tensor"}
- func: lent::cat(Tensor[] tensors, int dim=0) -> Tensor
  dispatch: {"CPU, Meta": "torch:aten::cat"}
- func: lent::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  dispatch: {"CPU, Meta": "torch:aten::linear"}
- func: lent::normal(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor
  dispatch: {"CPU, Meta": "torch:aten::normal.Tensor_float"}
- func: lent::zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None) -> Tensor
  dispatch: {"CPU, Meta": "torch:aten::zeros"}
- func: lent::item(Tensor self) -> Scalar
  dispatch: {CPU: "torch:aten::item"}
- func: lent::missing(Tensor self) -> Tensor
  dispatch: {CPU: "torch:nobody::missing"}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The operators, generated."""
    folder: Path = tmp_path_factory.mktemp("lent")
    (folder / "ops.yaml").write_text(SCHEMAS, encoding="utf-8")
    assert main(["generate", str(folder / "ops.yaml"), "-o", str(folder / "lent_ops")]) == 0
    sys.path.insert(0, str(folder))
    yield importlib.import_module("lent_ops").ops
    sys.path.remove(str(folder))


def x() -> np.ndarray[Any, Any]:
    return np.arange(6.0).reshape(2, 3)


def test_scalars_lists_and_optionals(ops: Any) -> None:
    assert (ops.add(x(), x(), alpha=2) == 3 * x()).all()
    assert (ops.cat([x(), x()], 1) == np.hstack([x(), x()])).all()
    assert (ops.linear(x(), x()) == x() @ x().T).all()
    assert (ops.linear(x(), x(), np.ones(2)) == x() @ x().T + 1).all()
    assert ops.zeros([2], dtype=opwright.int32).dtype == opwright.int32
    assert ops.item(opwright.tensor(3)) == 3


def test_what_is_written_arrives_in_the_callers_array(ops: Any) -> None:
    given = x()
    assert ops.add_(given, x()) is given and (given == 2 * x()).all()
    turned = x()[::-1]  # PyTorch has no negative strides
    ops.add_(turned, np.ones(3))
    assert (turned == x()[::-1] + 1).all()


@pytest.mark.parametrize("shape", [(2, 3), (0,)])
def test_out_is_resized_as_ours_is(ops: Any, shape: tuple[int, ...]) -> None:
    out = opwright.zeros(shape, dtype=opwright.float64)
    assert ops.add(opwright.tensor(x()), opwright.tensor(x()), out=out) is out
    assert (out.numpy() == 2 * x()).all()


def test_views_share_memory(ops: Any) -> None:
    base = opwright.tensor(x())
    ops.select(base, 0, 1).fill_(9)
    ops.split(base, 1)[0].fill_(7)
    assert base.tolist() == [[7, 7, 7], [9, 9, 9]]


def test_a_generator_is_advanced_as_pytorchs(ops: Any) -> None:
    ours, theirs = opwright.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for _ in range(2):
        expected = torch.normal(torch.zeros(3), 1.0, generator=theirs)
        assert ops.normal(opwright.zeros(3), 1.0, generator=ours).tolist() == expected.tolist()


def test_fakes_are_pytorchs(ops: Any) -> None:
    with opwright.fake.FakeTensorMode() as mode:
        base = mode.from_tensor(opwright.tensor(x()))
        assert ops.add(base, base).shape == (2, 3)
        view = ops.select(base, 0, 1)
        assert (view.shape, view.storage_offset()) == ((3,), 3)
        assert view.array.root is base.array.root


def test_an_operator_that_pytorch_does_not_have(ops: Any) -> None:
    with pytest.raises(RuntimeError, match="PyTorch has no operator nobody::missing: import the module"):
        ops.missing(opwright.ones(1))
