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


# Of bytes NumPy makes int64 or int8 here, and writes neither into bytes: an answer that is converted has to be stored.
SIGNED = (
    "xp.bitwise_and(xp.less(self, y), s)",
    "xp.floor_divide(xp.less(self, y), xp.less(y, self) + True)",
    "xp.multiply(self, xp.where(xp.less(self, y), 1, 2))",
    "xp.add(self, xp.argsort(y))",
    "xp.maximum(self, positions)",
    "xp.bitwise_and(self, s)",
)


def test_bytes_computed_by_way_of_integers_with_a_sign(tmp_path: Path) -> None:
    """A call that writes gives what one that returns a new tensor gives, whatever integers its kernel computes with."""
    space = new_namespace()
    entry = """
- func: {space}::f{number}(Tensor self, Tensor y, Tensor positions, Scalar s=3) -> Tensor
  meta: pointwise(self, y)
  dispatch: {{CPU: "{kernel}"}}
  autogen: f{number}.out, f{number}_
"""
    entries = "".join(entry.format(space=space, number=number, kernel=kernel) for number, kernel in enumerate(SIGNED))
    x, y, positions = np.array([1, 2, 250], "u1"), np.array([2, 2, 3], "u1"), np.array([0, 5, 9])
    with imported(generate(tmp_path, entries)) as package:
        for number, kernel in enumerate(SIGNED):
            expected = getattr(package.ops, f"f{number}")(x, y, positions)
            out, same = np.zeros(3, "u1"), x.copy()
            assert getattr(package.ops, f"f{number}")(x, y, positions, out=out) is out
            assert getattr(package.ops, f"f{number}_")(same, y, positions) is same
            assert expected.dtype == np.uint8
            assert expected.tolist() == out.tolist() == same.tolist(), kernel
