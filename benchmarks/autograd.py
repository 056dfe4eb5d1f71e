"""Recorded calls and backward passes, the first one in a process, and the memory of what is recorded."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

import opwright

from .measure import ENVIRONMENT, Figure, budget, ratio

# Seconds of the first recorded call and backward pass of a fresh process, which load what records.
FIRST = """
import sys, time
library = __import__(sys.argv[1])
x = library.ones(4)
(x + x).sum()
x.requires_grad_()
start = time.perf_counter()
(x + x).sum().backward()
print(time.perf_counter() - start)
"""
# What the process grows by, in bytes, while a graph of so many adds is built, of which only the end is held.
GRAPH = """
import gc, sys
library, count = __import__(sys.argv[1]), int(sys.argv[2])

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def chain(count):
    z = x
    for _ in range(count):
        z = library.add(z, y)
    return z

x, y = library.ones(4).requires_grad_(), library.ones(4)
chain(100).sum().backward()
gc.collect()
before = resident()
z = chain(count)
print(resident() - before)
"""

# The processor's seconds of a recorded call in a chain of so many, all alive: what the garbage collector adds. (A long
# chain is never without other work on the machine.)
ALIVE = """
import sys, time
library, count = __import__(sys.argv[1]), int(sys.argv[2])
x, y = library.ones(4).requires_grad_(), library.ones(4)
best = 1.0
for _ in range(max(5, 20_000 // count)):
    z, start = x, time.process_time()
    for _ in range(count):
        z = library.mul(z, y)
    best = min(best, (time.process_time() - start) / count)
    del z
print(best)
"""


def figures() -> Iterator[Figure]:
    """Calls, passes, the first of all, memory."""
    torch.set_num_threads(1)
    yield from recorded()
    yield from trained()
    own, peer = printed(FIRST, "opwright"), printed(FIRST, "torch")
    yield Figure("first recorded call and backward pass of a process", own, peer, own / peer)
    for count, limit in ((10_000, 1.0), (100_000, None)):
        own, peer = printed(GRAPH, "opwright", str(count)), printed(GRAPH, "torch", str(count))
        work = f"memory of a graph of {count:,} adds"
        yield Figure(work, own, peer, own / peer, limit, amounts="B")
    few, many = printed(ALIVE, "opwright", "1000"), printed(ALIVE, "opwright", "100000")
    yield Figure("a recorded call in a chain of 10⁵, against 10³", many, few, many / few, budget(1.2, 1.1))


def recorded() -> Iterator[Figure]:
    """Small calls, and a chain of them."""
    ones = np.ones(4, np.float32)
    x, y, grad = opwright.from_numpy(ones.copy()).requires_grad_(), opwright.from_numpy(ones), opwright.ones([4])
    p, q, peer_grad = torch.ones(4, requires_grad=True), torch.ones(4), torch.ones(4)
    add, peer = opwright.add, torch.add
    yield ratio("recorded 4-element add", lambda: add(x, y), lambda: peer(p, q), budget(0.85, 0.15))

    def chain() -> None:
        z = x
        for _ in range(50):
            z = add(z, y)
        z.backward(grad)

    def peer_chain() -> None:
        z = p
        for _ in range(50):
            z = peer(z, q)
        z.backward(peer_grad)

    yield ratio("50 adds, forward and backward", chain, peer_chain, budget(0.5, 0.15), rounds=40)
    own, theirs = partial(as_written, opwright, y), partial(as_written, torch, q)
    yield ratio("50 adds as users write it, with `sum().backward()`", own, theirs, budget(0.6, 0.15), rounds=40)
    own, theirs = partial(written_rows, opwright), partial(written_rows, torch)
    yield ratio("100 recorded in-place writes to rows", own, theirs, budget(2.0, 1.0), rounds=2)
    with opwright.no_grad(), torch.no_grad():
        yield ratio("add of a leaf under no_grad", lambda: add(x, y), lambda: peer(p, q))


def as_written(library: Any, y: Any) -> None:
    """A chain whose leaf is made with it."""
    z = library.ones(4, requires_grad=True)
    for _ in range(50):
        z = library.add(z, y)
    z.sum().backward()


def written_rows(library: Any) -> None:
    """Writes through views, each recorded."""
    x = library.ones(100, 4, requires_grad=True) * 1
    for place in range(100):
        x[place].mul_(2.0)
    x.sum().backward()


def trained() -> Iterator[Figure]:
    """Operators of a training step."""
    for work, function, rounds in (
        ("recorded product", lambda x: x * x, 500),
        ("recorded softmax", lambda x: x.softmax(1), 100),
        ("sum().backward()", lambda x: x.sum().backward(), 100),
    ):
        own, peer = opwright.ones(4, 4, requires_grad=True), torch.ones(4, 4, requires_grad=True)
        yield ratio(work, partial(function, own), partial(function, peer), rounds=rounds)
    yield ratio(
        "forward and backward of two small layers",
        partial(step, layers(opwright)),
        partial(step, layers(torch)),
        rounds=40,
    )


def layers(library: Any) -> tuple[Any, Any, Any]:
    """Inputs, and two matrices of weights."""
    return library.ones(4, 8), library.ones(8, 16, requires_grad=True), library.ones(16, 4, requires_grad=True)


def step(of: tuple[Any, Any, Any]) -> None:
    """What a training step does before the optimizer's turn."""
    inputs, first, second = of
    ((inputs @ first).relu() @ second).sum().backward()


def printed(code: str, *arguments: str) -> float:
    """The number that a fresh process prints; the median of three."""
    command = [sys.executable, "-c", code, *arguments]
    return statistics.median(
        float(subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
