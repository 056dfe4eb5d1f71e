"""Recorded calls and backward passes, and the memory of what is recorded."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import torch

import opwright

from .measure import ENVIRONMENT, Figure, ratio

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
    """Calls, passes, memory."""
    torch.set_num_threads(1)
    yield from recorded()
    for count, budget in ((10_000, 1.0), (100_000, None)):
        own, peer = bytes_of_graph("opwright", count), bytes_of_graph("torch", count)
        work = f"memory of a graph of {count:,} adds"
        yield Figure(work, own, peer, own / peer, budget, amounts="B")


def recorded() -> Iterator[Figure]:
    """Small calls."""
    ones = np.ones(4, np.float32)
    x, y, grad = opwright.from_numpy(ones.copy()).requires_grad_(), opwright.from_numpy(ones), opwright.ones([4])
    p, q, peer_grad = torch.ones(4, requires_grad=True), torch.ones(4), torch.ones(4)
    add, peer = opwright.add, torch.add
    yield ratio("recorded 4-element add", lambda: add(x, y), lambda: peer(p, q), 0.75)

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


def bytes_of_graph(library: str, count: int) -> float:
    """Resident memory that a fresh process takes for it; the median of three."""
    command = [sys.executable, "-c", GRAPH, library, str(count)]
    return statistics.median(
        int(subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
