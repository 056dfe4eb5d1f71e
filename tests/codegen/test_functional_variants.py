"""Functional and out variants that are made of in-place and mutable operators: torchgen's, and they compute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pipeline import assert_refused, generate, imported, new_namespace

import opwright
from opwright.fake import FakeTensorMode
from opwright.library import opcheck
from opwright_codegen.read.files import read_text

KERNELS = """
from __future__ import annotations


def scale_(self, by):
    return self.mul_(by)


def norm(x, running, m):
    running *= m
    return x - 1


def push(stack, other, v):
    stack += v
    if other is not None:
        other += v


def each_(self, others):
    for item, other in zip(self, others, strict=True):
        item += other


def nothing(*arguments): ...


def norm_fake(xp, x, running, m):
    return xp.empty_like(x)
"""
# In one namespace of PyTorch's file and in ours; `Meta` is for ours.
ENTRIES = """
- func: NSscale_(Tensor(a!) self, Scalar by) -> Tensor(a!)
  variants: function, method
  dispatch:
    CompositeExplicitAutograd: scale_
  autogen: scale, scale.out
- func: NSnorm(Tensor x, Tensor(a!) running, *, float m=0.5) -> Tensor
  dispatch:
    CPU: norm
    Meta: norm_fake
  autogen: norm_functional, norm.out
- func: NSeach_(Tensor(a!)[] self, Tensor[] others) -> ()
  dispatch:
    CPU: each_
    Meta: nothing
  autogen: each, each.out
- func: NSwiped_.by(Tensor(a!) self, int by=0) -> Tensor(a!)
  meta: like(self)
  dispatch:
    CPU: self * by
  autogen: wiped.by, wiped.by_out
"""
PUSH = """
- func: NSpush(Tensor(a!) stack, Tensor(b!)? other, Tensor v) -> ()
  dispatch:
    CPU: push
    Meta: nothing
  autogen: push_functional
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, namespace = tmp_path_factory.mktemp("functional"), new_namespace()
    run = generate(folder, (ENTRIES + PUSH).replace("NS", f"{namespace}::"), kernels=KERNELS)
    with imported(run) as package:
        assert isinstance(package, ModuleType)
        yield getattr(opwright.ops, namespace)


def test_in_place_operators_have_functional_and_out_variants(ops: Any) -> None:
    x = opwright.tensor([1.0, 2.0])
    out = opwright.empty(0)
    assert ops.scale(x, 3).tolist() == ops.scale.out(x, 3, out=out).tolist() == out.tolist() == [3.0, 6.0]
    assert ops.wiped(x, 2).tolist() == [2.0, 4.0]
    assert x.tolist() == [1.0, 2.0]
    expanded = opwright.tensor([1.0]).expand(3)  # the copy has memory of its own
    assert ops.scale(expanded, 2).tolist() == [2.0] * 3


def test_mutable_operators_return_what_they_would_have_written(ops: Any) -> None:
    x, running, v = opwright.tensor([1.0, 2.0]), opwright.tensor([4.0]), opwright.tensor([1.0, 1.0])
    found = ops.norm_functional(x, running, m=0.25)
    assert [each.tolist() for each in found] == [[0.0, 1.0], [1.0]]
    assert running.tolist() == [4.0]
    out = opwright.empty(2)
    assert ops.norm.out(x, running, out=out).tolist() == [0.0, 1.0] and running.tolist() == [2.0]
    stack, other = ops.push_functional(x, None, v)
    assert (stack.tolist(), other) == ([2.0, 3.0], None)
    stack, other = ops.push_functional(x, stack, v)
    assert (stack.tolist(), other.tolist()) == ([2.0, 3.0], [3.0, 4.0])


def test_lists(ops: Any) -> None:
    xs = [opwright.tensor([1.0]), opwright.tensor([2.0, 3.0])]
    outs = [opwright.empty(0), opwright.empty(0)]
    assert [each.tolist() for each in ops.each(xs, xs)] == [[2.0], [4.0, 6.0]]
    assert ops.each.out(xs, xs, out=outs) is None
    assert [each.tolist() for each in outs] == [[2.0], [4.0, 6.0]]
    assert [each.tolist() for each in xs] == [[1.0], [2.0, 3.0]]


def test_plain_arrays(ops: Any) -> None:
    x, running = np.array([1.0, 2.0]), np.array([4.0])
    for found, wanted in (
        (ops.scale(x, 3), [3.0, 6.0]),
        (ops.norm_functional(x, running)[1], [2.0]),
        (ops.push_functional(x, None, x)[0], [2.0, 4.0]),
        (ops.each([x], [x])[0], [2.0, 4.0]),
        (ops.wiped(x), [0.0, 0.0]),
    ):
        assert type(found) is np.ndarray and found.tolist() == wanted
    assert x.tolist() == [1.0, 2.0] and running.tolist() == [4.0]


def test_without_data(ops: Any) -> None:
    with FakeTensorMode():
        x, running = opwright.empty(2, 3), opwright.empty(3)
        assert ops.scale(x, 2).shape == ops.wiped(x).shape == (2, 3)
        assert [each.shape for each in ops.norm_functional(x, running)] == [(2, 3), (3,)]
        assert [each.shape for each in ops.each([x, running], [x, running])] == [(2, 3), (3,)]
        assert ops.scale.out(x, 2, out=opwright.empty(0)).shape == (2, 3)


@pytest.mark.parametrize("name", ["scale", "scale_", "norm_functional", "norm", "push_functional", "each", "wiped.by"])
def test_they_keep_to_their_schemas(ops: Any, name: str) -> None:
    base, _, overload = name.partition(".")
    x, y = opwright.rand(2, 3), opwright.rand(2, 3)
    arguments = {
        "scale": (x, 2.0), "scale_": (x, 2.0), "norm_functional": (x, y), "norm": (x, y),
        "push_functional": (x, None, y), "each": ([x, y], [y, x]), "wiped.by": (x,),
    }[name]  # fmt: skip
    opcheck(getattr(getattr(ops, base), overload or "default"), arguments)


def test_names_that_cannot_be_made_are_errors(tmp_path: Path) -> None:
    for wrong, hint in (("scale_functional", "scale, scale.out"), ("scale", "")):
        run = generate(
            tmp_path,
            ENTRIES.partition("- func: NSnorm")[0].replace("NS", "x::").replace("scale, scale.out", wrong),
            kernels=KERNELS,
        )
        assert_refused(run)
        assert hint in run.stderr


@pytest.mark.oracle
def test_torchgen_makes_the_same_operators(tmp_path: Path) -> None:
    torchgen_gen: Any = pytest.importorskip("torchgen.gen", reason="PyTorch is the oracle: make test ORACLE=1")
    text = ENTRIES.replace("NS", "").replace("  meta: like(self)\n", "").replace("    Meta: norm_fake\n", "")
    text = text.replace("    Meta: nothing\n", "").replace("CPU: self * by", "CPU: wiped_")
    path = tmp_path / "native_functions.yaml"
    path.write_text(text)
    tags = Path(torchgen_gen.__file__).parent / "packaged/ATen/native/tags.yaml"
    theirs = torchgen_gen.parse_native_yaml(str(path), str(tags)).native_functions
    ours = read_text(text).operators.values()
    assert [(str(f.func), "generated" in f.tags) for f in theirs] == [
        (str(operator.schema).removeprefix("aten::"), operator.generated) for operator in ours
    ]
