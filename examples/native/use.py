"""The operators of this example called: with NumPy arrays, with tensors, for gradients, without data, in a batch."""

import numpy as np
from native_demo import ops

import opwright
from opwright.autograd import gradcheck
from opwright.func import vmap

x, y = np.arange(4.0), np.ones(4)
print("arrays:   ", ops.axpy(x, y, alpha=2.0))
print("float16:  ", ops.axpy(x.astype(np.float16), y.astype(np.float16)))

first = opwright.tensor([1.0, 2.0], dtype=opwright.float64, requires_grad=True)
second = opwright.tensor([3.0, 4.0], dtype=opwright.float64, requires_grad=True)
ops.axpy(first, second, alpha=0.5).sum().backward()
print("gradients:", first.grad.tolist(), second.grad.tolist())
print("gradcheck:", gradcheck(ops.axpy, (first, second)))

rows = opwright.tensor([[1, 3, 2], [4, 0, 5]])
print("running:  ", ops.running_max(rows).tolist())
print("batched:  ", vmap(ops.axpy)(opwright.ones(2, 3), opwright.ones(2, 3)).tolist())
mean, variance = ops.moments(opwright.arange(6.0).reshape(2, 3))
print("moments:  ", mean.tolist(), [round(each, 3) for each in variance.tolist()])

param, grad, mean, square = (np.full(3, each) for each in (1.0, 0.5, 0.0, 0.0))
ops.adamw_step(param, grad, mean, square, step=1, lr=0.1)
print("stepped:  ", param.round(6), mean.round(6))
print("scaled:   ", ops.scale_(np.arange(6).reshape(2, 3).T, 10).tolist())
logits, classes = opwright.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0]]), opwright.tensor([0, 2])
print("losses:   ", [round(each, 4) for each in ops.nll_rows(logits, classes).tolist()])
print("wave:     ", ops.wave(np.arange(3.0)).round(4))
print("centred:  ", ops.centred_rows(opwright.tensor([[1.0, 3.0], [4.0, 0.0]])).tolist())
