"""Gradients of each sample of a batch, in one call, and what they are good for: clipping, as differential privacy does.

`python examples/per_sample_gradients.py`
"""

from __future__ import annotations

import time

import numpy as np

import opwright as ow
import opwright.nn.functional as F
from opwright.func import grad, vmap

Parameters = dict[str, ow.Tensor]


def initial(width: int = 16) -> Parameters:
    """Weights of two layers."""
    random = np.random.default_rng(0)
    return {
        "weight1": ow.tensor(random.normal(0, 0.5, (width, 4)), dtype=ow.float32),
        "bias1": ow.zeros(width),
        "weight2": ow.tensor(random.normal(0, 0.5, (3, width)), dtype=ow.float32),
        "bias2": ow.zeros(3),
    }


def loss(p: Parameters, point: ow.Tensor, label: ow.Tensor) -> ow.Tensor:
    """The loss of one sample: a point of four numbers, and the number of its class."""
    hidden = ow.tanh(F.linear(point, p["weight1"], p["bias1"]))
    return F.cross_entropy(F.linear(hidden, p["weight2"], p["bias2"]), label)


def clipped(gradients: Parameters, most: float) -> Parameters:
    """The mean of gradients, of which each sample's has at most this norm."""
    norms = ow.stack([each.flatten(1).norm(dim=1) for each in gradients.values()]).norm(dim=0)
    factors = (most / (norms + 1e-6)).clamp(max=1.0)
    return {name: ow.tensordot(factors, each, 1) / len(factors) for name, each in gradients.items()}


def main() -> None:
    random = np.random.default_rng(1)
    points = ow.tensor(random.normal(size=(64, 4)), dtype=ow.float32)
    labels = points[:, :3].argmax(1)
    p = initial()

    of_each = vmap(grad(loss), in_dims=(None, 0, 0))  # the parameters are the same for all samples
    gradients = of_each(p, points, labels)  # the first call loads what it needs
    start = time.perf_counter()
    gradients = of_each(p, points, labels)
    at_once = time.perf_counter() - start
    print({name: tuple(each.shape) for name, each in gradients.items()})

    start = time.perf_counter()
    rows = [grad(loss)(p, points[number], labels[number]) for number in range(len(points))]
    one_by_one = time.perf_counter() - start
    apart = max(float((gradients[name] - ow.stack([row[name] for row in rows])).abs().max()) for name in p)
    print(f"at once {1e3 * at_once:.1f} ms, one by one {1e3 * one_by_one:.1f} ms, at most {apart:.0e} apart")

    for step in range(60):
        move = clipped(of_each(p, points, labels), most=1.0)
        p = {name: each - 0.5 * move[name] for name, each in p.items()}
        if step % 20 == 0:
            print(f"loss {float(vmap(loss, (None, 0, 0))(p, points, labels).mean()):.3f}")


if __name__ == "__main__":
    main()
