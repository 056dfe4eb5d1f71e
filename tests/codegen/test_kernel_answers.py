"""A kernel that returns an argument, or a view of one, where its declaration says that the result is new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright.errors import OpCheckError

ENTRIES = """
- func: NS::same(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: same}
- func: NS::turned(Tensor self, int n) -> Tensor
  meta: like(self)
  dispatch: {CPU: turned}
- func: NS::pair(Tensor self, Tensor other) -> (Tensor, Tensor)
  meta: like(self), like(other)
  dispatch: {CPU: pair}
- func: NS::fresh(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: fresh}
- func: NS::inline(Tensor self) -> Tensor
  meta: like(self)
  dispatch: {CPU: 'self[::-1]'}
- func: NS::viewed(Tensor(a) self) -> Tensor(a)
  meta: view
  dispatch: {CPU: same}
"""
KERNELS = """
def same(self):
    return self
def turned(self, n):
    return self[::-1]
def pair(self, other):
    return self + 1, other
def fresh(self):
    return self.copy()
"""


def test_opcheck_reports_what_is_copied_at_each_call(tmp_path: Path) -> None:
    space = new_namespace()
    with imported(generate(tmp_path, ENTRIES.replace("NS", space), kernels=KERNELS)):
        ops = getattr(opwright.ops, space)
        x, y = opwright.arange(3.0), opwright.ones(3)
        for call, said in (
            ((ops.same, (x,)), "hostile_kernels:same returns argument 'self' itself, and the declaration says"),
            ((ops.same, (x.half(),)), "hostile_kernels:same returns argument 'self' itself"),
            ((ops.turned, (x, 1)), "hostile_kernels:turned returns an array in the memory of argument 'self'"),
            ((ops.pair, (x, y)), "hostile_kernels:pair returns argument 'other' itself"),
        ):
            with pytest.raises(OpCheckError, match=f"test_schema failed: {space}::.*{said}"):
                opwright.library.opcheck(*call, test_utils="test_schema")
        for op in (ops.fresh, ops.inline, ops.viewed):
            assert opwright.library.opcheck(op, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
        # What is returned is new for all that.
        made = ops.same(x)
        made.add_(1)
        assert x.tolist() == [0.0, 1.0, 2.0]
        assert not np.may_share_memory(made.numpy(), x.numpy())
