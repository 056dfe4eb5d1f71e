"""Calls of `demo_structured`: one kernel on the out variant serves its group."""

import numpy as np
from demo_structured import ops

import opwright

x = opwright.tensor([[1.0, 5.0], [4.0, 2.0]])

values, indices = named = ops.largest(x, 1)
assert named.values is values and values.tolist() == [5, 4] and indices.tolist() == [1, 0]
assert indices.dtype is opwright.int64 and x.largest(0, keepdim=True)[0].tolist() == [[4, 5]]
outs = opwright.empty(0), opwright.empty(0, dtype=opwright.int64)
named = ops.largest(x, 1, values=outs[0], indices=outs[1])
assert named[0] is outs[0] and named[1] is outs[1] and outs[0].tolist() == [5, 4] and outs[1].tolist() == [1, 0]
assert ops.largest(opwright.empty(2, 3, device="meta"), 1, True).indices.shape == (2, 1)

assert ops.halve(x).tolist() == [[0.5, 2.5], [2, 1]] and ops.halve(np.array([3, 4])).dtype == np.float32
assert ops.halve(x, "floor").tolist() == ops.halve(x, rounding="floor").tolist() == [[0, 2], [2, 1]]
assert ops.halve(np.array([3, 4]), "floor").dtype == np.int64
out = opwright.empty(2, 2)
assert ops.halve(x, out=out) is out and out.tolist() == [[0.5, 2.5], [2, 1]]
assert ops.halve_(x, "floor") is x and x.tolist() == [[0, 2], [2, 1]]
