"""Threads that build and differentiate graphs: the same gradients as one thread, and none lost on shared leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import seeds

import opwright
from opwright.nn.functional import cross_entropy, layer_norm

THREADS = 8
ROUNDS = 20


@pytest.fixture(autouse=True)
def often_switched() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], object]) -> list[object]:
    """The work of each thread, all begun together; raises what one of them raised."""
    barrier = Barrier(THREADS)

    def one(number: int) -> object:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def leaf(seed: int, *shape: int) -> opwright.Tensor:
    return opwright.tensor(seeds.numpy_generator(seed).standard_normal(shape), requires_grad=True)


def gradients(seed: int) -> list[list[float]]:
    """Of views, writes, broadcasts and composites, to the second order."""
    x, w = leaf(seed, 4, 6), leaf(seed + 1, 6, 6)
    found = []
    for _ in range(ROUNDS):
        y = layer_norm(x @ w, (6,)) * 2.0
        y[1].mul_(w[0])
        loss = cross_entropy(y, opwright.tensor([0, 1, 2, 3])) + y.t().exp().mean()
        first = opwright.autograd.grad(loss, (x, w), create_graph=True)
        sum((each * each).sum() for each in first).backward()
        found.append(first[0].detach().reshape(-1).tolist())
    return [*found, x.grad.reshape(-1).tolist(), w.grad.reshape(-1).tolist()]


def test_separate_graphs_in_threads() -> None:
    alone = [gradients(number) for number in range(THREADS)]
    assert in_threads(gradients) == alone


def test_nothing_is_lost_on_shared_leaves() -> None:
    shared = leaf(0, 3, 3)
    products = [opwright.tensor(np.full((3, 3), float(number + 1))) for number in range(THREADS)]

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            (shared * products[number]).sum().backward()

    in_threads(work)
    assert shared.grad.tolist() == np.full((3, 3), ROUNDS * 36.0).tolist()


def test_passes_over_one_graph() -> None:
    """Several threads go through the same nodes, and accumulate in the same leaves."""
    x, w = leaf(0, 4, 4), leaf(1, 4, 4)
    loss = ((x @ w).exp() * x).sum()
    expected = [each * float(THREADS * ROUNDS) for each in opwright.autograd.grad(loss, (x, w), retain_graph=True)]

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            loss.backward(retain_graph=True)

    in_threads(work)
    for leaf_, wanted in zip((x, w), expected, strict=True):
        np.testing.assert_allclose(leaf_.grad.numpy(), wanted.numpy(), rtol=1e-12)


def test_modes_belong_to_a_thread() -> None:
    x = leaf(0, 3)

    def work(number: int) -> list[bool]:
        found = []
        for _ in range(ROUNDS):
            with opwright.set_grad_enabled(number % 2 == 0):
                found.append((x * 2.0).requires_grad)
        return found

    assert in_threads(work) == [[number % 2 == 0] * ROUNDS for number in range(THREADS)]
