"""The target `batching`: the family of each operator, from `dims` or from `meta`, in a package that is used."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace

import opwright

SCHEMAS = """
- func: batching_target::twice(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: self + self}
  autogen: twice_, twice.out

- func: batching_target::apart(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(n,d),(m,d)->(n,m)", x, y)
  dispatch: {CPU: apart}

- func: batching_target::spread(Tensor self, int dim, bool keepdim=False) -> Tensor
  meta: reduce(self, dim, keepdim)
  dispatch: {CPU: spread}

- func: batching_target::middle(Tensor self, int dim) -> Tensor
  dims: along(self, dim=dim); batched
  dispatch: {CPU: middle}

- func: batching_target::last(Tensor self) -> Tensor
  dims: batched by hostile_kernels:last_batched
  dispatch: {CPU: last}
"""
KERNELS = """
import numpy as np


def apart(xp, x, y):
    return np.abs(x[..., :, None, :] - y[..., None, :, :]).sum(-1)


def spread(xp, self, dim, keepdim):
    return self.max(axis=dim, keepdims=keepdim) - self.min(axis=dim, keepdims=keepdim)


def middle(xp, self, dim):
    return np.median(self, axis=dim).astype(self.dtype)


def last(xp, self):
    return self.reshape(-1)[-1:].copy()


def last_batched(info, in_dims, self):
    value = self.movedim(in_dims[0], 0)
    return value.reshape(info.batch_size, -1)[:, -1:], 0
"""


@pytest.mark.filterwarnings("error:vmap")
def test_families_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = generate(tmp_path, SCHEMAS, kernels=KERNELS)
    assert run.status == 0, run.stderr
    table = (run.package / "batching" / "ops.py").read_text(encoding="utf-8")
    for row in (
        '"twice": Elementwise(0),',
        '"twice_": Elementwise(0),',
        '"apart": Leading((0, 2), (1, 2)),',
        '"spread": Along(0, dim=1, empty_is_all=True),',
        '"middle": Along(0, dim=1),',
        '"last": ByHand("hostile_kernels", "last_batched"),',
    ):
        assert row in table
    assert "twice.out" not in table
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hostile_kernels", raising=False)
    ops = importlib.import_module(run.package.name).ops
    x = opwright.from_numpy(np.arange(24.0).reshape(2, 3, 4))
    functions = (
        ops.twice,
        ops.last,
        lambda a: ops.spread(a, 0),
        lambda a: ops.middle(a, -1),
        lambda a: ops.apart(a, x[0]),
    )
    for function in functions:
        wanted = opwright.stack([function(x[number]) for number in range(2)])
        assert (opwright.vmap(function)(x) == wanted).all()
    monkeypatch.delitem(sys.modules, "hostile_kernels")


PARTS = """
- func: NS::first_times(Tensor x, Tensor y) -> Tensor
  meta: pointwise(x[0], y)
  dispatch: {CPU: 'x[0] * y'}

- func: NS::first_product(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(m,k),(k,n)->(m,n)", x[0], y)
  dispatch: {CPU: 'xp.matmul(x[0], y)'}

- func: NS::first_sum(Tensor x, Tensor y) -> Tensor
  meta: reduce(x[0], [0], False)
  dispatch: {CPU: '(x[0] + y).sum(0)'}
"""


@pytest.mark.filterwarnings("ignore:vmap. there is no batching rule")
def test_parts_of_tensors_have_no_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule reads of `x[0]` says nothing of the dimensions of `x`."""
    monkeypatch.chdir(tmp_path)
    namespace = new_namespace()
    x, y = opwright.rand(3, 2, 4, 4), opwright.rand(3, 4, 4)
    with imported(generate(tmp_path, PARTS.replace("NS", namespace))):
        for name in ("first_times", "first_product", "first_sum"):
            operator = getattr(getattr(opwright.ops, namespace), name)
            for in_dims in ((0, 0), (0, None), (None, 0)):
                given = [whole if dim == 0 else whole[0] for whole, dim in zip((x, y), in_dims, strict=True)]
                each_of = [a.unbind(0) if dim == 0 else [a] * 3 for a, dim in zip(given, in_dims, strict=True)]
                samples = zip(*each_of, strict=True)
                found = opwright.vmap(operator, in_dims)(*given)
                np.testing.assert_allclose(found, np.stack([operator(*each).numpy() for each in samples]), rtol=1e-6)
