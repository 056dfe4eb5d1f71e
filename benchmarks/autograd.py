"""Recorded calls and backward passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

import opwright

from .measure import Figure, ratio


def figures() -> Iterator[Figure]:
    """Through the generated wrappers."""
    torch.set_num_threads(1)
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
