"""Fits a line to points with outliers, by operators of this folder; `opwright generate` first."""

import numpy as np
from robust_ops import ops

import opwright
from opwright.autograd import gradcheck, gradgradcheck


def check() -> None:
    """Hold the formulas against finite differences."""
    opwright.manual_seed(0)
    x, y, w = (opwright.randn(3, 4, dtype=opwright.float64, requires_grad=True) for _ in range(3))
    assert gradcheck(ops.huber, (x, y), check_forward_ad=True) and gradgradcheck(ops.huber, (x, y))
    assert gradcheck(lambda x, w: ops.scaled_rows(x, w)[0], (x, w[0].detach().requires_grad_()))
    assert gradcheck(lambda x, y, w: ops.blend([x, y], [w, w]), (x, y, w))
    print("gradients are right")


def train(steps: int = 40) -> None:
    """Descend along the Huber loss; the true line is y = 2x - 1."""
    rng = np.random.default_rng(0)
    x = opwright.tensor(rng.uniform(-2, 2, 100))
    noise = np.where(rng.uniform(size=100) < 0.1, 20.0, 0.1 * rng.standard_normal(100))
    y = 2 * x - 1 + opwright.tensor(noise)
    slope, offset = (opwright.zeros((), dtype=opwright.float64, requires_grad=True) for _ in range(2))
    for step in range(steps):
        loss = ops.huber(slope * x + offset, y, delta=0.5).mean()
        loss.backward()
        with opwright.no_grad():
            for parameter in (slope, offset):
                parameter -= 0.2 * parameter.grad
                parameter.grad = None
        if step % 10 == 9:
            print(f"step {step + 1}  loss {loss.item():.4f}  y = {slope.item():.2f} x {offset.item():+.2f}")


check()
train()
