"""Calls through the dispatcher: Tensors, scalars, in-place, views, calls of many kinds, plain arrays, large arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

import opwright

from .measure import Figure, beyond, budget, ratio

# A round has to fit a time slice of the machine's scheduler, or other processes are measured too.
SHORT = 200


def figures() -> Iterator[Figure]:
    torch.set_num_threads(1)
    yield from small()
    yield from calls()
    yield from plain()
    yield from large()


def small() -> Iterator[Figure]:
    a, b = np.ones(4, np.float32), np.ones(4, np.float32)
    x, y = opwright.from_numpy(a), opwright.from_numpy(b)
    p, q = torch.ones(4), torch.ones(4)
    m, n = opwright.from_numpy(np.ones((3, 4), np.float32)), torch.ones(3, 4)
    zero, nought = opwright.zeros([4]), torch.zeros(4)
    add, peer = opwright.add, torch.add
    yield ratio("4-element add of Tensors", lambda: add(x, y), lambda: peer(p, q), budget(0.85, 0.15))
    yield ratio("the same as `x + y`", lambda: x + y, lambda: p + q, budget(0.85, 0.15))
    yield ratio("add with a Python scalar", lambda: add(x, 1.5), lambda: peer(p, 1.5), 0.5)
    yield ratio("in-place add", lambda: x.add_(zero), lambda: p.add_(nought), 0.8)
    yield ratio("a view: t()", lambda: m.t(), lambda: n.t(), 0.7)


def calls() -> Iterator[Figure]:
    """Operators of which PyTorch's take about 1 µs: what NumPy takes for the same work is part of ours."""
    a = np.random.default_rng(0).random((8, 8), dtype=np.float32)
    x, p = opwright.from_numpy(a), torch.from_numpy(a)
    half, halves = x.half(), p.half()
    for work, ours, peer in (
        ("sum()", lambda: x.sum(), lambda: p.sum()),
        ("max(0), values and indices", lambda: x.max(0), lambda: p.max(0)),
        ("x[0]", lambda: x[0], lambda: p[0]),
        ("x[0] = 1", lambda: x.__setitem__(0, 1.0), lambda: p.__setitem__(0, 1.0)),
        ("reshape", lambda: x.reshape(4, 16), lambda: p.reshape(4, 16)),
        ("cat", lambda: opwright.cat([x, x]), lambda: torch.cat([p, p])),
        ("8×8 matmul", lambda: x @ x, lambda: p @ p),
        ("softmax", lambda: x.softmax(-1), lambda: p.softmax(-1)),
        ("to(float64)", lambda: x.to(opwright.float64), lambda: p.to(torch.float64)),
        ("zeros_like", lambda: opwright.zeros_like(x), lambda: torch.zeros_like(p)),
        ("add of half", lambda: opwright.add(half, half), lambda: torch.add(halves, halves)),
    ):
        yield ratio(work, ours, peer, rounds=SHORT, repeats=101)


def plain() -> Iterator[Figure]:
    a, b = np.ones(4, np.float32), np.ones(4, np.float32)
    add = opwright.add
    limit = budget(320e-9, 0.0)
    yield beyond("plain arrays through a stub, beyond NumPy", lambda: add(a, b), lambda: np.add(a, b), limit)


def large() -> Iterator[Figure]:
    for megabytes, rounds in ((1, 10), (16, 4)):
        yield from sized(megabytes, rounds)


def sized(megabytes: int, rounds: int) -> Iterator[Figure]:
    a = np.random.default_rng(0).random(megabytes << 18, dtype=np.float32)
    b = a[::-1].copy()
    x, y = opwright.from_numpy(a), opwright.from_numpy(b)
    add, sin, size = opwright.add, opwright.sin, f"{megabytes} MB"
    for work, ours, peer in (
        (f"add of {size} Tensors against np.add", lambda: add(x, y), lambda: np.add(a, b)),
        (f"add of {size} plain arrays", lambda: add(a, b), lambda: np.add(a, b)),
        (f"sin of {size} Tensors against np.sin", lambda: sin(x), lambda: np.sin(a)),
    ):
        yield ratio(work, ours, peer, 1.03, rounds=rounds, repeats=201)
