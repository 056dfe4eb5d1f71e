"""Calls of `demo_expressions` by NumPy, without its library: `tests/runtime/native` builds such libraries."""

import math

import numpy as np
from demo_expressions import ops

import opwright

x, y = opwright.tensor([1.0, 2.0]), opwright.tensor([10.0, 20.0])
assert ops.axpy(x, y).tolist() == [11, 22] and ops.axpy(x, y, alpha=2).tolist() == [21, 42]
assert ops.axpy(np.array([1, 2]), 3, alpha=2).tolist() == [7, 8]
out, changed = opwright.empty(2), x.clone()
assert ops.axpy(x, y, out=out) is out and out.tolist() == [11, 22]
assert ops.axpy_(changed, y) is changed and changed.tolist() == [11, 22]

values, limits = np.array([0.5, 4.0]), np.array([1.0, 1.0])
found = ops.spread(values, limits, 1.0, 1, False)
assert found[0] == -math.inf and math.isclose(found[1], math.erf(2) + 1)
assert math.isclose(ops.spread(values, limits, 1.0, 1, **{"from": True})[1], math.erf(2) + 0.1)

for dtype in (np.uint8, np.int16, np.uint64):
    a, b = np.array([5, 12], dtype), np.array([1, 4], dtype)
    assert ops.bits(a, b).tolist() == ((a & ~b) << dtype(3) | dtype(255)).tolist() and ops.bits(a, b).dtype == dtype
a, b = np.array([0, 0, 3], np.float32), np.array([1, 2, 1], np.float32)
assert ops.either(a, b).tolist() == [True, False, False]
assert ops.truth(np.array([True, False])).tolist() == [False, True]
