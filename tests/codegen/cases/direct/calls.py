"""Calls of `demo_direct`: kernels without `meta` return what they return, and write what they write."""

import contextlib
import io

import numpy as np
from demo_direct import ops

import opwright

x = opwright.tensor([1, 2, 3])

assert ops.same(x, x) is True and ops.same(np.ones(2), np.zeros(2)) is False
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    assert ops.report(x, "seen") is None
assert printed.getvalue() == "seen (3,)\n"
taken = ops.split_off(x, 2)
assert taken.tolist() == [1, 2] and x.tolist() == [0, 0, 3]
assert ops.zero_(x) is x and x.tolist() == [0, 0, 0]
array = np.ones(2)
assert ops.zero_(array) is array and array.tolist() == [0, 0]
assert opwright.ones(2).zero_().tolist() == [0, 0]
total, dims = ops.both(np.ones((2, 2)), None)
assert total.tolist() == [[1, 1], [1, 1]] and dims == 2
assert ops.both(opwright.ones(2), opwright.ones(2))[0].tolist() == [2, 2]
