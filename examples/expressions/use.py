"""The operators of this example called: with arrays, with tensors, for gradients, without data, in a batch."""

import numpy as np
from expression_demo import ops

import opwright
from opwright.autograd import gradcheck
from opwright.func import vmap

x, y = np.arange(4.0), np.ones(4)
print("arrays:   ", ops.axpy(x, y, alpha=2.0))
print("integers: ", ops.axpy(np.arange(4), np.arange(4), alpha=3))
print("mixed:    ", ops.axpy(np.arange(4), np.ones(4, np.float32), alpha=0.5).dtype)
print("within:   ", ops.within(x, np.array(1.0), np.array(2.0)))
print("buckets:  ", ops.bucket(np.arange(-3, 3) * 1_000_003, 8))

out = np.empty((2, 3), np.float32)
matrix, row = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)
ops.fused(*map(opwright.tensor, (matrix, row, matrix, row)), out=opwright.from_numpy(out))
print("out:      ", out.tolist())

first = opwright.tensor([1.0, -2.0], dtype=opwright.float64, requires_grad=True)
second = opwright.tensor([3.0, 4.0], dtype=opwright.float64, requires_grad=True)
ops.axpy(first, second, alpha=0.5).sum().backward()
print("gradients:", first.grad.tolist(), second.grad.tolist())
print("gradcheck:", gradcheck(ops.swish, (first,)), gradcheck(ops.huber, (first, second)))
print("batched:  ", vmap(ops.swish)(opwright.ones(2, 1)).shape)
with opwright.fake.FakeTensorMode():
    print("no data:  ", ops.huber(opwright.empty(5, 1), opwright.empty(7)).shape)
