"""A transformer of one block learns to reverse sequences: `python examples/train_transformer.py`."""

from __future__ import annotations

import math

import numpy as np

import opwright as ow
import opwright.nn.functional as F

Parameters = dict[str, ow.Tensor]
TOKENS, LENGTH, WIDTH, HEADS = 10, 8, 32, 4


def initial(dtype: ow.dtype) -> Parameters:
    """The weights, random; those of layer norms ones."""
    random = np.random.default_rng(0)
    shapes = {
        "token": (TOKENS, WIDTH),
        "position": (LENGTH, WIDTH),
        "query": (WIDTH, WIDTH),
        "key": (WIDTH, WIDTH),
        "value": (WIDTH, WIDTH),
        "join": (WIDTH, WIDTH),
        "expand": (4 * WIDTH, WIDTH),
        "contract": (WIDTH, 4 * WIDTH),
        "head": (TOKENS, WIDTH),
    }
    start = {name: random.normal(0, shape[1] ** -0.5, shape) for name, shape in shapes.items()}
    start |= {name: np.ones(WIDTH) for name in ("norm1", "norm2", "norm3")}
    return {name: ow.tensor(values, dtype=dtype, requires_grad=True) for name, values in start.items()}


def attention(p: Parameters, x: ow.Tensor) -> ow.Tensor:
    """Each position looks at all others, in several heads."""

    def heads(name: str) -> ow.Tensor:
        return F.linear(x, p[name]).view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    found = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"))
    return F.linear(found.transpose(1, 2).reshape(x.shape), p["join"])


def logits(p: Parameters, tokens: ow.Tensor) -> ow.Tensor:
    """For each position a score for each token."""

    def norm(x: ow.Tensor, name: str) -> ow.Tensor:
        return F.layer_norm(x, (WIDTH,), p[name])

    x = F.embedding(tokens, p["token"]) + p["position"]
    x = x + attention(p, norm(x, "norm1"))
    x = x + F.linear(F.gelu(F.linear(norm(x, "norm2"), p["expand"])), p["contract"])
    return F.linear(norm(x, "norm3"), p["head"])


class Adam:
    """Steps against the gradient, as long for each number as it is sure of its direction."""

    def __init__(self, p: Parameters, rate: float) -> None:
        self.p, self.rate, self.count = p, rate, 0
        self.means = {name: (ow.zeros_like(each), ow.zeros_like(each)) for name, each in p.items()}

    def step(self) -> None:
        """Move the parameters, and forget their gradients."""
        self.count += 1
        rate = self.rate * math.sqrt(1 - 0.99**self.count) / (1 - 0.9**self.count)
        with ow.no_grad():
            for name, parameter in self.p.items():
                mean, squares = self.means[name]
                mean.lerp_(parameter.grad, 0.1)
                squares.lerp_(parameter.grad.square(), 0.01)
                parameter.addcdiv_(mean, squares.sqrt() + 1e-8, value=-rate)
                parameter.grad = None


def train(p: Parameters, steps: int, report: bool = True) -> list[float]:
    """Learn from new sequences at each step; the loss of each."""
    random, adam, losses = np.random.default_rng(1), Adam(p, rate=3e-3), []
    for step in range(steps):
        tokens = ow.tensor(random.integers(0, TOKENS, (32, LENGTH)))
        scores, wanted = logits(p, tokens), tokens.flip(1)
        loss = F.cross_entropy(scores.reshape(-1, TOKENS), wanted.reshape(-1))
        loss.backward()
        adam.step()
        losses.append(loss.item())
        if report and (step + 1) % (steps // 10) == 0:
            right = (scores.argmax(-1) == wanted).sum().item() / wanted.numel()
            print(f"step {step + 1:4} of {steps}  loss {losses[-1]:.4f}  {right:.1%} right", flush=True)
    return losses


def main() -> None:
    """Train until it reverses what it never saw."""
    p = initial(ow.float32)
    train(p, steps=120)
    tokens = ow.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    print(tokens.tolist()[0], "reversed is", logits(p, tokens).argmax(-1).tolist()[0])


if __name__ == "__main__":
    main()
