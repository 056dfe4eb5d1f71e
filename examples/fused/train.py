"""Trains a small language model twice from one start: with the operators of this folder, and with ordinary ones."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from fused_ops import ops

import opwright as ow
import opwright.nn.functional as F

Tensor = ow.Tensor
TOKENS, BATCH, LENGTH, WIDTH, HEADS = 1024, 8, 64, 128, 4
RATES = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.01}


# -- the four operators, composed


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn pairs of elements by the angles of their positions."""
    first, second = x.chunk(2, -1)
    return ow.cat([first * cos - second * sin, second * cos + first * sin], -1)


def adamw_step(
    param: Tensor, grad: Tensor, mean: Tensor, square: Tensor, *,
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: int,
) -> None:  # fmt: skip
    """Move param by one step of AdamW, and its averages with it."""
    param.mul_(1 - lr * weight_decay)
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    scale = square.sqrt().mul_(1 / math.sqrt(1 - beta2**step)).add_(eps)
    param.addcdiv_(mean, scale, value=-lr / (1 - beta1**step))


class Form(NamedTuple):
    """One way to compute the four."""

    layer_norm: Callable[[Tensor, Tensor, Tensor], Tensor]
    cross_entropy: Callable[[Tensor, Tensor], Tensor]
    rotary: Callable[[Tensor, Tensor, Tensor], Tensor]
    adamw_step: Callable[..., Any]


FUSED = Form(
    lambda x, weight, bias: ops.layer_norm(x, weight, bias)[0],
    lambda logits, target: ops.cross_entropy(logits, target)[0].mean(),
    ops.rotary,
    ops.adamw_step,
)
COMPOSED = Form(
    lambda x, weight, bias: F.layer_norm(x, (WIDTH,), weight, bias),
    F.cross_entropy,
    rotary,
    adamw_step,
)


# -- the model


def initial() -> dict[str, Tensor]:
    """The parameters: random matrices, norms that change nothing yet."""
    random = np.random.default_rng(0)
    square = (WIDTH, WIDTH)
    shapes = {"token": (TOKENS, WIDTH), "query": square, "key": square, "value": square, "join": square}
    shapes |= {"expand": (4 * WIDTH, WIDTH), "contract": (WIDTH, 4 * WIDTH), "head": (TOKENS, WIDTH)}
    start = {name: random.normal(0, shape[1] ** -0.5, shape) for name, shape in shapes.items()}
    for name in ("norm1", "norm2", "norm3"):
        start |= {name: np.ones(WIDTH), f"{name}_bias": np.zeros(WIDTH)}
    return {name: ow.tensor(values, dtype=ow.float32, requires_grad=True) for name, values in start.items()}


def angles() -> tuple[Tensor, Tensor]:
    """Cosines and sines for each position and pair of elements of a head."""
    half = WIDTH // HEADS // 2
    turns = np.arange(LENGTH)[:, None] * 10_000.0 ** (-np.arange(half) / half)
    return ow.tensor(np.cos(turns), dtype=ow.float32), ow.tensor(np.sin(turns), dtype=ow.float32)


def loss_of(form: Form, p: dict[str, Tensor], tokens: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """The mean loss of each next token, by a transformer of one block."""

    def norm(x: Tensor, name: str) -> Tensor:
        return form.layer_norm(x, p[name], p[f"{name}_bias"])

    def heads(x: Tensor) -> Tensor:
        return x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    x = F.embedding(tokens[:, :-1], p["token"])
    h = norm(x, "norm1")
    query, key = (form.rotary(heads(F.linear(h, p[name])), *turn) for name in ("query", "key"))
    found = F.scaled_dot_product_attention(query, key, heads(F.linear(h, p["value"])), is_causal=True)
    x = x + F.linear(found.transpose(1, 2).reshape(x.shape), p["join"])
    x = x + F.linear(F.relu(F.linear(norm(x, "norm2"), p["expand"])), p["contract"])
    logits = F.linear(norm(x, "norm3"), p["head"])
    return form.cross_entropy(logits.reshape(-1, TOKENS), tokens[:, 1:].reshape(-1))


class Training:
    """A model that learns, one step at a time: each token says the next one, but for a start at random."""

    def __init__(self, form: Form) -> None:
        self.form, self.p, self.turn, self.count = form, initial(), angles(), 0
        self.averages = {name: (ow.zeros_like(each), ow.zeros_like(each)) for name, each in self.p.items()}
        self.random = np.random.default_rng(1)
        self.seconds = {"forward": math.inf, "backward": math.inf, "AdamW": math.inf}

    def step(self) -> float:
        """Learn from a new batch; the loss. `seconds` keeps the shortest time of each part."""
        start = self.random.integers(0, 64, (BATCH, 1))
        tokens = ow.tensor((start + 37 * np.arange(LENGTH + 1)) % TOKENS)
        times = [time.perf_counter()]
        loss = loss_of(self.form, self.p, tokens, self.turn)
        times.append(time.perf_counter())
        loss.backward()
        times.append(time.perf_counter())
        self.count += 1
        with ow.no_grad():
            for name, param in self.p.items():
                self.form.adamw_step(param, param.grad, *self.averages[name], **RATES, step=self.count)
                param.grad = None
        times.append(time.perf_counter())
        for part, begin, end in zip(self.seconds, times, times[1:], strict=False):
            self.seconds[part] = min(self.seconds[part], end - begin)
        return loss.item()


def main(steps: int) -> None:
    """Train in turn, so that what slows the machine slows both; losses have to agree."""
    fused, composed = Training(FUSED), Training(COMPOSED)
    for step in range(steps):
        ours, theirs = fused.step(), composed.step()
        if abs(ours - theirs) > 0.01 * abs(theirs):
            sys.exit(f"step {step + 1}: the losses {ours} and {theirs} are too far apart")
        if step % max(1, steps // 5) == 0 or step == steps - 1:
            print(f"step {step + 1:3}  loss fused {ours:.4f}  composed {theirs:.4f}", flush=True)
    for part, seconds in fused.seconds.items():
        other = composed.seconds[part]
        print(f"{part:8}  fused {seconds * 1e3:6.2f} ms  composed {other * 1e3:6.2f} ms  ratio {seconds / other:.2f}")
    ours, theirs = sum(fused.seconds.values()), sum(composed.seconds.values())
    print(f"step      fused {ours * 1e3:6.2f} ms  composed {theirs * 1e3:6.2f} ms  ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
