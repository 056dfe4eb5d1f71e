"""The random stream is PyTorch's: same seed, same bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import opwright
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.random_state import generator
from opwright_core.random_state.generator import _STATE, Generator


def test_seeds() -> None:
    first = Generator().manual_seed(-1)
    assert first.initial_seed() == 2**64 - 1
    again = Generator().manual_seed(2**64 - 1)
    assert np.array_equal(first.raw32(5), again.raw32(5))
    assert first.seed() == first.initial_seed()
    with pytest.raises(RuntimeError, match="64 bits"):
        first.manual_seed(2**64)


def test_words_are_those_of_numpy() -> None:
    """However many are drawn at once."""
    ours, theirs = Generator().manual_seed(7), np.random.RandomState(7)
    for count in (1, 622, 2, 700, 1249, 0, 3):
        assert np.array_equal(ours.raw32(count), theirs.randint(0, 2**32, count, np.uint32))
    words = theirs.randint(0, 2**32, 2000, np.uint32)
    assert np.array_equal(ours.uniform(2000), (words % 2**24) / np.float32(2**24))


def test_state_continues_the_stream_with_its_cached_sample() -> None:
    first = Generator().manual_seed(3)
    first.normal(3)  # an odd number: one sample is kept back
    copy, pickled = first.clone_state(), pickle.loads(pickle.dumps(first))
    expected = first.normal(4)
    assert np.array_equal(copy.normal(4), expected)
    assert np.array_equal(pickled.normal(4), expected)
    with pytest.raises(RuntimeError, match="5056 bytes"):
        first.set_state(np.zeros(10, np.uint8))


@pytest.mark.parametrize("changed", [("left", 0), ("left", 626), ("left", -(2**31)), ("seeded", 0), ("next", 2**63)])
def test_a_state_that_no_generator_has_is_refused_and_changes_nothing(changed: tuple[str, int]) -> None:
    own = Generator().manual_seed(3)
    own.normal(3)
    before = own.get_state()
    state = Generator().manual_seed(4).get_state()
    state.view(_STATE)[changed[0]] = changed[1]
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        own.set_state(state)
    assert np.array_equal(own.get_state(), before)
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"), opwright.random.fork_rng():
        opwright.set_rng_state(opwright.from_numpy(state))
    make, (device, _) = own.__reduce__()
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        make(device, state)


def test_default_generators_follow_manual_seed() -> None:
    assert generator.manual_seed(11) is generator.default_generator is generator.generator_of("cpu")
    expected = Generator().manual_seed(11).raw64(3)
    assert np.array_equal(generator.generator_of("cpu").raw64(3), expected)
    assert generator.initial_seed() == 11


@pytest.mark.oracle
@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, -7])
def test_numbers_equal_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    ours, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for count in (1, 7, 15, 16, 17, 40, 700):
        for name in ("float32", "float64", "float16", "bfloat16"):
            dtype, other = as_dtype(name), getattr(torch, name)
            expected = torch.rand(count, generator=theirs, dtype=other).to(torch.float64).numpy()
            assert np.array_equal(ours.uniform(count, dtype).astype(np.float64), expected), name
            expected = torch.randn(count, generator=theirs, dtype=other).to(torch.float64).numpy()
            close = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1e-2}[name]
            drawn = ours.normal(count, dtype).astype(np.float64)
            assert np.allclose(drawn, expected, rtol=close, atol=close), (name, count)
        for low, high in ((0, 10), (-5, 2**27), (0, 2**28), (0, 2**32 + 7), (-(2**62), 2**62)):
            expected = torch.randint(low, high, (count,), generator=theirs).numpy()
            assert np.array_equal(ours.integers(count, low, high), expected), (low, high)
        assert np.array_equal(ours.permutation(count), torch.randperm(count, generator=theirs).numpy())


@pytest.mark.oracle
def test_states_move_between_the_two() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    theirs = torch.Generator().manual_seed(5)
    torch.randn(3, generator=theirs)
    ours = Generator().set_state(theirs.get_state().numpy())
    assert np.array_equal(ours.get_state(), theirs.get_state().numpy())
    assert np.allclose(ours.normal(9), torch.randn(9, generator=theirs).numpy(), rtol=1e-6)
    theirs.set_state(torch.from_numpy(ours.get_state()))
    assert np.array_equal(ours.uniform(650), torch.rand(650, generator=theirs).numpy())
