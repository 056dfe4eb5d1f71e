"""Calls of `demo_views`: results share memory with their argument, and a write to one is seen in the other."""

import numpy as np
from demo_views import ops

import opwright

x = opwright.arange(4.0).reshape(2, 2)

flipped = ops.flip_axes(x)
assert flipped.tolist() == x.flip_axes().tolist() == [[0, 2], [1, 3]]
flipped.fill_(7)
assert x.tolist() == [[7, 7], [7, 7]] and x._version == flipped._version == 1
first, second = x.pieces(2)
second.fill_(1)
assert x.tolist() == [[7, 7], [1, 1]] and [each.shape for each in x.pieces(2, dim=1)] == [(2, 1), (2, 1)]
first, last = named = ops.ends(x)
assert named.first is first and named.last is last and last.fill_(2) is last
assert x.tolist() == [[7, 7], [2, 2]]
array = np.arange(4.0).reshape(2, 2)
assert np.shares_memory(ops.flip_axes(array), array)
assert ops.ends(opwright.empty(3, 2, device="meta")).last.shape == (1, 2)
