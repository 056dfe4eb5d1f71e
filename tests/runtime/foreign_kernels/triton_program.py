"""Operators with kernels of Triton, by its interpreter or its stand-in, on CuPy's stand-in: a program of its own, since
what Triton does is decided when it is imported. It prints nothing where all is as it should be."""

from __future__ import annotations

import cupy_stand_in
import numpy as np
import pytest
from triton_demo import ops

import opwright
from opwright import vmap
from opwright.errors import DispatchError
from opwright.library import opcheck

cupy_stand_in.cupy_for_tests()


def on_device(value, **named):
    return opwright.tensor(value, device="cuda", **named)


x, y = np.arange(300.0).reshape(3, 100), np.ones(100)
for dtype in (opwright.float32, opwright.float64):
    found = ops.axpy(on_device(x, dtype=dtype), on_device(y, dtype=dtype), alpha=0.5)
    assert found.dtype == dtype and np.array_equal(found.cpu().numpy(), 0.5 * x + y)
assert ops.axpy(on_device(x).half(), on_device(y).half()).dtype == opwright.float16
assert ops.axpy(opwright.ones(0, device="cuda"), opwright.ones(0, device="cuda")).shape == (0,)

first, second = (on_device(value, dtype=opwright.float64, requires_grad=True) for value in ([1.0, 2.0], [3.0, 4.0]))
ops.axpy(first, second, alpha=0.5).sum().backward()
assert first.grad.tolist() == [0.5, 0.5]
assert set(opcheck("triton_demo::axpy", (first, second)).values()) == {"SUCCESS"}
batched = vmap(ops.axpy)(opwright.ones(2, 3, device="cuda"), opwright.ones(2, 3, device="cuda"))
assert batched.tolist() == [[2.0] * 3] * 2

rows = np.arange(12.0).reshape(3, 4)
for given in (rows, rows[:, ::-1], rows.T):
    assert ops.row_sums(on_device(given)).tolist() == given.sum(1).tolist()
with pytest.raises(DispatchError, match="its Triton kernel takes an array of 2 dimensions first, and this has 3"):
    ops.row_sums(opwright.ones(2, 2, 2, device="cuda"))

written = on_device(np.arange(6.0).reshape(2, 3))
version = written._version
assert ops.add_(written.T, on_device(np.ones((3, 1)))) is not None
assert written.tolist() == (np.arange(6.0) + 1).reshape(2, 3).tolist() and written._version > version
with pytest.raises(DispatchError, match=r"plain: triton_kernels\.plain is no kernel of Triton: write @triton\.jit"):
    ops.plain(on_device([1.0]))
