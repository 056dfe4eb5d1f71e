"""A classifier of two layers learns which of two spirals a point is on: `python examples/train_classifier.py`."""

from __future__ import annotations

import numpy as np

import opwright as ow
import opwright.nn.functional as F

Parameters = dict[str, ow.Tensor]


def spirals(count: int, dtype: ow.dtype) -> tuple[ow.Tensor, ow.Tensor]:
    """Points on two spirals, one turned by half a circle, with some noise; and the number of each point's spiral."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, count)
    along = np.sqrt(random.uniform(0.02, 1.0, count))
    angle = 3 * np.pi * along + np.pi * labels
    points = along[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) + random.normal(0, 0.01, (count, 2))
    return ow.tensor(points, dtype=dtype), ow.tensor(labels)


def initial(hidden: int, dtype: ow.dtype) -> Parameters:
    """Weights of two layers."""
    random = np.random.default_rng(1)
    start = {
        "weight1": random.normal(0, 4.0, (hidden, 2)),
        "bias1": random.normal(0, 2.0, hidden),
        "weight2": random.normal(0, hidden**-0.5, (2, hidden)),
        "bias2": np.zeros(2),
    }
    return {name: ow.tensor(values, dtype=dtype, requires_grad=True) for name, values in start.items()}


def logits(p: Parameters, points: ow.Tensor) -> ow.Tensor:
    """A score for each of the two spirals."""
    hidden = ow.tanh(F.linear(points, p["weight1"], p["bias1"]))
    return F.linear(hidden, p["weight2"], p["bias2"])


def train(p: Parameters, points: ow.Tensor, labels: ow.Tensor, steps: int, report: bool = True) -> list[float]:
    """Gradient descent with momentum; the loss at each step."""
    speeds = {name: ow.zeros_like(parameter) for name, parameter in p.items()}
    losses = []
    for step in range(steps):
        scores = logits(p, points)
        loss = F.cross_entropy(scores, labels)
        loss.backward()
        with ow.no_grad():
            for name, parameter in p.items():
                speeds[name].mul_(0.9).add_(parameter.grad)
                parameter.sub_(speeds[name], alpha=0.1)
                parameter.grad = None
        losses.append(loss.item())
        if report and (step + 1) % (steps // 10) == 0:
            right = (scores.argmax(1) == labels).sum().item() / len(labels)
            print(f"step {step + 1:4} of {steps}  loss {losses[-1]:.4f}  {right:.1%} right", flush=True)
    return losses


def main() -> None:
    """Train on 400 points."""
    points, labels = spirals(400, ow.float32)
    train(initial(64, ow.float32), points, labels, steps=600)


if __name__ == "__main__":
    main()
