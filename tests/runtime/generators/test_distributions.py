"""Random numbers drawn by other methods than PyTorch's: how they are distributed, and that a seed repeats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright_core.tensors.tensor import Tensor

COUNT = 20_000

# What is drawn, and the mean and the standard deviation it should have.
DRAWN: dict[str, tuple[Callable[[Any], Tensor], float, float]] = {
    "poisson of 3": (lambda g: opwright.poisson(opwright.full([COUNT], 3.0), g), 3, 3**0.5),
    "poisson of 40": (lambda g: opwright.poisson(opwright.full([COUNT], 40.0), g), 40, 40**0.5),
    "binomial": (
        lambda g: opwright.binomial(opwright.full([COUNT], 10.0), opwright.full([COUNT], 0.3), g),
        3,
        (10 * 0.3 * 0.7) ** 0.5,
    ),
    "exponential": (lambda g: opwright.empty([COUNT]).exponential_(2.0, generator=g), 0.5, 0.5),
    "geometric": (lambda g: opwright.empty([COUNT]).geometric_(0.25, generator=g), 4, 0.75**0.5 / 0.25),
    "log_normal": (
        lambda g: opwright.empty([COUNT]).log_normal_(0.0, 0.5, generator=g).log(), 0, 0.5,
    ),
    "multinomial": (
        lambda g: opwright.multinomial(opwright.tensor([1.0, 0.0, 3.0]), COUNT, True, generator=g), 1.5, 0.75**0.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_mean_and_spread(name: str) -> None:
    draw, mean, spread = DRAWN[name]
    first = draw(opwright.Generator().manual_seed(1)).numpy()
    assert abs(first.mean() - mean) < 5 * spread / COUNT**0.5
    assert abs(first.std() / spread - 1) < 0.05
    assert np.array_equal(draw(opwright.Generator().manual_seed(1)).numpy(), first)
    assert not np.array_equal(draw(opwright.Generator().manual_seed(2)).numpy(), first)


def test_multinomial_without_replacement() -> None:
    chances = opwright.tensor([[1.0, 2.0, 0.0, 7.0]]).expand([COUNT, 4])
    drawn = opwright.multinomial(chances, 3, generator=opwright.Generator().manual_seed(1)).numpy()
    assert np.array_equal(np.sort(drawn, axis=1), np.broadcast_to([0, 1, 3], drawn.shape))
    shares = np.bincount(drawn[:, 0], minlength=4) / COUNT
    assert np.abs(shares - [0.1, 0.2, 0.0, 0.7]).max() < 0.02
    # The second of those that drew 3 first: 1 of 3, and 2 of 3.
    second = drawn[drawn[:, 0] == 3, 1]
    assert abs((second == 0).mean() - 1 / 3) < 0.02


def test_multinomial_rows_have_their_own_chances() -> None:
    chances = opwright.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    drawn = opwright.multinomial(chances, COUNT, True, generator=opwright.Generator().manual_seed(1)).numpy()
    assert np.abs(drawn.mean(axis=1) - [0, 1, 0.5]).max() < 0.02
    assert not drawn[0].any()
    assert drawn[1].all()


def test_normal_around_arrays() -> None:
    mean, std = opwright.tensor([[0.0], [100.0]]).expand([2, COUNT]), opwright.tensor([1.0]).expand([COUNT])
    drawn = opwright.normal(mean, std, generator=opwright.Generator().manual_seed(1)).numpy()
    assert np.abs(drawn.mean(axis=1) - [0, 100]).max() < 0.05
    assert np.abs(drawn.std(axis=1) - 1).max() < 0.05
