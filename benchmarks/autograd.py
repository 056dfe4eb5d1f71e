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

from .measure import ENVIRONMENT, Figure, ratio

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


def figures() -> Iterator[Figure]:
    """Calls, passes, the first of all, memory."""
    torch.set_num_threads(1)
    yield from recorded()
    yield from trained()
    own, peer = printed(FIRST, "opwright"), printed(FIRST, "torch")
    yield Figure("first recorded call and backward pass of a process", own, peer, own / peer)
    for count, budget in ((10_000, 1.0), (100_000, None)):
        own, peer = printed(GRAPH, "opwright", str(count)), printed(GRAPH, "torch", str(count))
        work = f"memory of a graph of {count:,} adds"
        yield Figure(work, own, peer, own / peer, budget, amounts="B")


def recorded() -> Iterator[Figure]:
    """Small calls, and a chain of them."""
    ones = np.ones(4, np.float32)
    x, y, grad = opwright.from_numpy(ones.copy()).requires_grad_(), opwright.from_numpy(ones), opwright.ones([4])
    p, q, peer_grad = torch.ones(4, requires_grad=True), torch.ones(4), torch.ones(4)
    add, peer = opwright.add, torch.add
    yield ratio("recorded 4-element add", lambda: add(x, y), lambda: peer(p, q), 0.85)

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

    yield ratio("50 adds, forward and backward", chain, peer_chain, 0.5, rounds=40)
    with opwright.no_grad(), torch.no_grad():
        yield ratio("add of a leaf under no_grad", lambda: add(x, y), lambda: peer(p, q))


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
