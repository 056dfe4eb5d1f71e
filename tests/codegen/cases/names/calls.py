"""Calls of `demo_names`: operators and arguments whose names Python, or the module, has already."""

import numpy as np
from demo_names import ops

import opwright

x = opwright.tensor([1.0, 2.0])

assert opwright.ops.demo.random_(x, **{"from": 3, "to": None}) is x and x.tolist() == [3, 3]
assert ops.import_(x, 2).tolist() == [5, 5] and ops.import_(x, **{"from": 1}).tolist() == [4, 4]
assert ops.sum(x).tolist() == 6 and ops.sum(x, all=False).tolist() == [3, 3]
assert ops.type(x, 2, True).tolist() == [5, 5] and ops.type(x, int=1, float=False).tolist() == [4, 4]
assert ops.Tensor_(x, 2).tolist() == [6, 6] and ops.Tensor_(np.ones(1), keys=3).tolist() == [3]
assert ops.join(x).tolist() == [-3, -3] and ops.join_(x) is x and x.tolist() == [-3, -3]
assert ops.t(x).tolist() == [-3, -3] and opwright.ops.demo._t(x).tolist() == [-3, -3]
assert x.where(opwright.tensor([True, False]), opwright.zeros(2)).tolist() == [-3, 0]
assert ops.where(opwright.tensor([True, False]), x, opwright.zeros(2)).tolist() == [-3, 0]
assert opwright.ops.demo.any_number(x).tolist() == [-3, -3]
