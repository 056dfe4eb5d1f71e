"""Programs of many operators, drawn at random, that each library and each interpreter can run."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

MOST_ELEMENTS = 60


class Step(NamedTuple):
    """A step of STEPS or WRITES: its operands by their places, and a number."""

    name: str
    first: int
    second: int
    number: int


def _same(t: Any, a: Any, b: Any, n: int) -> Any:
    return a.tanh() * 0.7


# What gives a new tensor or a view, of `a` and `b` and a number.
STEPS: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "add": lambda t, a, b, n: (a + b) * 0.6,
    "sub": lambda t, a, b, n: a - 0.5 * b,
    "mul": lambda t, a, b, n: a * b.tanh(),
    "div": lambda t, a, b, n: a / (b * b + 1),
    "sin": lambda t, a, b, n: a.sin(),
    "tanh": _same,
    "sigmoid": lambda t, a, b, n: t.sigmoid(a) - 0.3,
    "exp": lambda t, a, b, n: (-a * a).exp(),
    "rsub": lambda t, a, b, n: (n % 3) - a,
    "where": lambda t, a, b, n: t.where(a > 0.1, a, a.cos()),
    "clamp": lambda t, a, b, n: a.clamp(-0.8, 0.9),
    "masked_fill": lambda t, a, b, n: a.masked_fill(a > 0.7, 0.25),
    "pow": lambda t, a, b, n: (a * a + 1) ** 0.5,
    "matmul": lambda t, a, b, n: (a @ a.transpose(-1, -2)) * 0.2,
    "softmax": lambda t, a, b, n: a.softmax(-1),
    "logsumexp": lambda t, a, b, n: a.logsumexp(n % a.ndim),
    "sum": lambda t, a, b, n: a.sum(n % a.ndim) * 0.4,
    "sum all": lambda t, a, b, n: a.sum() * 0.1 + b * 0.5,
    "mean": lambda t, a, b, n: a.mean(-1, keepdim=True),
    "var": lambda t, a, b, n: a.var(n % a.ndim, correction=0),
    "amax": lambda t, a, b, n: a.amax(n % a.ndim),
    "max": lambda t, a, b, n: a.max(n % a.ndim)[0],
    "sort": lambda t, a, b, n: a.sort(n % a.ndim)[0],
    "cumsum": lambda t, a, b, n: a.cumsum(n % a.ndim) * 0.5,
    "prod": lambda t, a, b, n: a.prod(n % a.ndim),
    "layer_norm": lambda t, a, b, n: t.nn.functional.layer_norm(a, (a.shape[-1],)),
    "cat": lambda t, a, b, n: t.cat([a, a.sin()], n % a.ndim),
    "stack": lambda t, a, b, n: t.stack([a, a * 0.5], n % a.ndim),
    "split": lambda t, a, b, n: a.split(2, n % a.ndim)[-1],
    "chunk": lambda t, a, b, n: a.chunk(2, n % a.ndim)[0],
    "unbind": lambda t, a, b, n: a.unbind(n % a.ndim)[-1],
    "transpose": lambda t, a, b, n: a.transpose(0, -1),
    "permute": lambda t, a, b, n: a.permute(*range(1, a.ndim), 0),
    "flatten": lambda t, a, b, n: a.flatten(),
    "reshape": lambda t, a, b, n: a.reshape(-1, a.shape[0]),
    "view": lambda t, a, b, n: a.contiguous().view(a.shape[0], -1),
    "unsqueeze": lambda t, a, b, n: a.unsqueeze(n % (a.ndim + 1)),
    "squeeze": lambda t, a, b, n: a.squeeze(),
    "expand": lambda t, a, b, n: a.expand(2, *a.shape),
    "select": lambda t, a, b, n: a[n % a.shape[0]],
    "select last": lambda t, a, b, n: a.select(-1, n % a.shape[-1]),
    "slice": lambda t, a, b, n: a[1:],
    "slice last": lambda t, a, b, n: a[..., ::2],
    "narrow": lambda t, a, b, n: a.narrow(0, 0, max(1, a.shape[0] - 1)),
    "diagonal": lambda t, a, b, n: a.diagonal(0, 0, -1),
    "unfold": lambda t, a, b, n: a.unfold(-1, 2, 1),
    "movedim": lambda t, a, b, n: a.movedim(0, -1),
    "flip": lambda t, a, b, n: a.flip([n % a.ndim]),
    "roll": lambda t, a, b, n: t.roll(a, 1, n % a.ndim),
    "tril": lambda t, a, b, n: a.tril(),
    "index": lambda t, a, b, n: a[[0, -1, 0]],
    "index_select": lambda t, a, b, n: a.index_select(-1, t.tensor([0, 0])),
    "gather": lambda t, a, b, n: a.gather(0, (a > 0.2).to(t.int64) * (a.shape[0] - 1)),
    "take_along": lambda t, a, b, n: t.take_along_dim(a, a.argsort(-1), -1),
    "index_add": lambda t, a, b, n: a.index_add(0, t.tensor([0]), a[:1] * 0.5),
    "pad": lambda t, a, b, n: t.nn.functional.pad(a, (1, 0)),
    "repeat": lambda t, a, b, n: a.repeat(*[1] * (a.ndim - 1), 2),
    "clone": lambda t, a, b, n: a.clone(),
    "detach": lambda t, a, b, n: a.detach() * 0.5 + a,
    "full_like": lambda t, a, b, n: t.full_like(a, 0.5) * a,
    "new_zeros": lambda t, a, b, n: a.new_zeros(a.shape) + a * 0.9,
    "to": lambda t, a, b, n: a.to(t.float32).to(t.float64),
}
# What writes to `a`, which nothing has saved.
WRITES: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "add_": lambda t, a, b, n: a.add_(b.detach() * 0.1),
    "add_ recorded": lambda t, a, b, n: a.add_(b, alpha=0.25),
    "mul_": lambda t, a, b, n: a.mul_(0.8),
    "neg_": lambda t, a, b, n: a.neg_(),
    "sub_": lambda t, a, b, n: a.sub_(0.1),
    "row": lambda t, a, b, n: a[0].mul_(0.5),
    "row set": lambda t, a, b, n: a.__setitem__(n % a.shape[0], 0.3),
    "row copied": lambda t, a, b, n: a.__setitem__(0, a[-1] * 1.0),
    "last": lambda t, a, b, n: a[..., -1:].add_(0.2),
    "through views": lambda t, a, b, n: a.transpose(0, -1)[0].add_(0.1),
    "zero_": lambda t, a, b, n: a[..., 0].zero_(),
    "index_put_": lambda t, a, b, n: a.index_put_((t.tensor([0]),), a.new_full((1,), 0.4).expand(a[:1].shape)),
    "copy_": lambda t, a, b, n: a.copy_(b),
    "fill_": lambda t, a, b, n: a.select(-1, 0).fill_(0.2),
}


def run(t: Any, steps: Sequence[Step], inputs: Sequence[Any]) -> Any:
    """The sum of what a program makes of its inputs, which stay as they are, and its last tensors."""
    tensors = _tensors(t, steps, inputs)
    last = tensors[-3:]
    return sum((each.tanh().sum() for each in tensors[-12:]), start=tensors[0].sum() * 0.1), last


def _tensors(t: Any, steps: Sequence[Step], inputs: Sequence[Any]) -> list[Any]:
    tensors = [each * 1.0 for each in inputs]
    for step in steps:
        a, b = tensors[step.first], tensors[step.second]
        if step.name in WRITES:
            WRITES[step.name](t, a, b, step.number)
        else:
            tensors.append(STEPS[step.name](t, a, b, step.number))
    return tensors


def draw(t: Any, drawn: random.Random, count: int, inputs: Sequence[Any]) -> list[Step]:
    """A program of `count` steps, each tried with the library: those that raise are drawn again. What is written to is
    a clone, before anything else uses it, so that a backward pass finds what it saved."""
    steps: list[Step] = []
    tensors = [each * 1.0 for each in inputs]
    while len(steps) < count:
        first = len(tensors) - 1 - min(int(drawn.expovariate(0.35)), len(tensors) - 1)
        second = drawn.randrange(len(tensors))
        number = drawn.randrange(4)
        if drawn.random() < 0.25:
            made = _draw_writes(t, drawn, Step("clone", first, second, number), tensors)
            steps += made
            continue
        step = Step(drawn.choice(sorted(STEPS)), first, second, number)
        try:
            result = STEPS[step.name](t, tensors[first], tensors[second], number)
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue
        if 0 < result.numel() <= MOST_ELEMENTS and 0 < result.ndim <= 3:
            steps.append(step)
            tensors.append(result)
    return steps


def _draw_writes(t: Any, drawn: random.Random, clone: Step, tensors: list[Any]) -> list[Step]:
    made, target = [clone], len(tensors)
    result = tensors[clone.first].clone()
    tensors.append(result)
    for _ in range(drawn.randrange(1, 4)):
        step = Step(drawn.choice(sorted(WRITES)), target, drawn.randrange(target), drawn.randrange(4))
        before = result.clone()
        try:
            WRITES[step.name](t, result, tensors[step.second], step.number)
        except (RuntimeError, IndexError, ValueError, TypeError):
            tensors[target] = result = before
            continue
        made.append(step)
    return made
