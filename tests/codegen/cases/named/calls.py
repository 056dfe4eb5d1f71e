"""Calls of `demo_named`: kernels that are functions, found by name or path, with and without `xp` and `out`."""

import numpy as np
from demo_named import ops

import opwright

x = opwright.tensor([[0.0, 1.0], [2.0, 4.0]])

expected = np.log1p(np.exp(x.numpy() * 2))
assert np.allclose(ops.softplus(x, 2.0), expected) and np.allclose(ops.softplus(x, beta=2.0), expected)
assert np.allclose(ops.softplus(np.array([0, 1])), np.log1p(np.exp([0.0, 1.0])))
out, changed = opwright.empty(2, 2), x.clone()
assert ops.softplus(x, 2.0, out=out) is out and np.allclose(out, expected)
assert ops.softplus_(changed, 2.0) is changed and np.allclose(changed, expected)
assert ops.scale(x, 0.5).tolist() == [[0, 0.5], [1, 2]]
assert ops.scale(x, 0.5, out=out) is out and out.tolist() == [[0, 0.5], [1, 2]]
mean, variance = named = ops.moments(x, 1, keepdim=True)
assert named.mean is mean and mean.tolist() == [[0.5], [3]]
assert named.var is variance and variance.tolist() == [[0.25], [1]]
assert ops.moments(x)[0].tolist() == 1.75
outs = opwright.empty(0), opwright.empty(0)
assert ops.moments(x, [0], out0=outs[0], out1=outs[1])[1] is outs[1] and outs[0].tolist() == [1, 2.5]
whole, rest = ops.parts(opwright.tensor([1.25, -0.5]))
assert whole.tolist() == [1, -1] and rest.tolist() == [0.25, 0.5]
try:
    ops.pairs(x)
except NotImplementedError as error:
    assert "demo::pairs" in "".join(error.__notes__) + str(error)
else:
    raise AssertionError("the rule of pairs is called first")
