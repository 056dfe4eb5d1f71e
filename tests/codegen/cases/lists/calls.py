"""Calls of `demo_lists`: lists of tensors, with missing ones, missing altogether, and as results."""

import numpy as np
from demo_lists import ops

import opwright

x, y = opwright.tensor([[1.0, 2.0]]), opwright.tensor([[3.0, 4.0]])

assert ops.join([x, y]).tolist() == [[1, 2], [3, 4]] and ops.join((x, y), dim=1).tolist() == [[1, 2, 3, 4]]
assert ops.join([np.ones(1), np.zeros(1)]).tolist() == [1, 0]
out = opwright.empty(0)
assert ops.join([x, y], out=out) is out and out.tolist() == [[1, 2], [3, 4]]
assert ops.join([opwright.empty(2, 3, device="meta")] * 2, 1).shape == (2, 6)
index = opwright.tensor([1, 0])
assert ops.pick(x, [opwright.tensor([0, 0]), index]).tolist() == [2, 1]
assert y.pick([opwright.tensor([0])]).tolist() == [[3, 4]]
assert ops.pick(x, [None, opwright.tensor([0, 0])]).tolist() == [[[1, 2], [1, 2]]]
assert ops.weighted([x, y]).tolist() == [[4, 6]] and ops.weighted([x], weights=[y, y]).tolist() == [[6, 8]]
copies = ops.copies(x, 2)
assert [each.tolist() for each in copies] == [[[1, 2]], [[1, 2]]]
