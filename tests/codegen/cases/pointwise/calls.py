"""Calls of `demo_pointwise`: values and dtypes of functional, in-place and out variants, on Tensors and arrays."""

import numpy as np
from demo_pointwise import ops

import opwright

x, y = opwright.tensor([[1.0], [2.0]]), opwright.tensor([10.0, 20.0])

assert ops.add(x, y).tolist() == x.add(y).tolist() == [[11, 21], [12, 22]]
assert ops.add(x, y, alpha=2).tolist() == [[21, 41], [22, 42]]
assert ops.add(x, 3).tolist() == [[4], [5]] and ops.add(x, 3, 2).tolist() == [[7], [8]]
assert ops.add(x, 3, alpha=2).tolist() == [[7], [8]]
assert ops.add(np.ones(2), np.arange(2)).tolist() == [1, 2] and ops.add(np.ones(2), 2).tolist() == [3, 3]
assert ops.add(opwright.ones(2, dtype=opwright.int8), 1.5).dtype is opwright.float32
assert ops.add(opwright.ones(2, dtype=opwright.int8), 1).dtype is opwright.int8
out, changed = opwright.empty(2, 2), opwright.ones(2)
assert ops.add(x, y, out=out) is out and out.tolist() == [[11, 21], [12, 22]]
assert ops.add(y, 1, out=changed) is changed and changed.tolist() == [11, 21]
assert ops.add_(changed.fill_(1), y, alpha=2) is changed and changed.tolist() == [21, 41]
assert changed.add_(1) is changed and changed.tolist() == [22, 42]
try:
    ops.add_(opwright.ones(2, dtype=opwright.int64), y)
except RuntimeError as error:
    assert "can't be cast" in str(error), error
else:
    raise AssertionError("a float is not written to ints")

found = ops.exp(np.array([0, 1]))
assert found.dtype == np.float32 and np.allclose(found, np.exp([0, 1]))
assert ops.exp_(changed.zero_()).tolist() == [1, 1]
assert ops.exp(opwright.zeros(1), out=opwright.empty(1)).tolist() == [1]
assert ops.less(x, y).tolist() == [[True, True], [True, True]] and ops.less(2, np.ones(1)).tolist() == [False]
try:
    ops.less(x.to(opwright.complex64), y)
except (RuntimeError, NotImplementedError) as error:
    assert "demo::less" in str(error) or "complex" in str(error).lower(), error
else:
    raise AssertionError("less takes no complex numbers")
assert np.allclose(ops.swish(np.array([1.0]), 2.0), 1 / (1 + np.exp(-2)))
assert ops.lerp(x, x + 1).tolist() == [[1], [2]]
assert ops.lerp(x, y, opwright.tensor(0.5)).tolist() == [[5.5, 10.5], [6, 11]]
assert ops.lerp(opwright.empty(3, 1, device="meta"), opwright.empty(2, device="meta")).shape == (3, 2)
batched = opwright.vmap(ops.add, in_dims=(0, None))(x, y)
assert batched.tolist() == [[11, 21], [12, 22]]
