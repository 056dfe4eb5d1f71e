"""Broadcasting, contiguity and the strides of results, against PyTorch on random layouts."""

from __future__ import annotations

import random
from typing import Any

import pytest
import seeds

from opwright_core.arrays import layouts
from opwright_core.rules.dimensions import wrap_dims


def test_broadcasting_names_sizes_and_dimension() -> None:
    assert layouts.broadcast_shapes([(2, 1, 3), (4, 1), ()]) == (2, 4, 3)
    assert layouts.broadcast_shapes([(0, 1), (1, 3)]) == (0, 3)
    with pytest.raises(RuntimeError) as caught:
        layouts.broadcast_shapes([(2, 3), (2, 4)])
    assert str(caught.value) == (
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
    )


def test_dimensions() -> None:
    assert wrap_dims((-1, 0), 3) == (2, 0)
    assert wrap_dims(None, 2) == wrap_dims((), 2) == (0, 1)
    assert wrap_dims(-1, 0) == ()
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
        layouts.wrap_dim(2, 2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times"):
        wrap_dims((1, -1), 2)


def test_contiguity() -> None:
    assert layouts.contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert layouts.is_contiguous((1, 3), (77, 1))
    assert not layouts.is_contiguous((2, 3), (1, 2))
    assert layouts.is_dense((2, 3), (1, 2))
    assert not layouts.is_dense((2, 3), (6, 2))
    assert layouts.may_overlap_itself((2, 3), (0, 1))
    assert not layouts.may_overlap_itself((1, 3), (0, 1))
    assert layouts.span((2, 3), (-3, 1)) == (-3, 2)


def test_results_of_negative_strides_count_forwards() -> None:
    assert layouts.pointwise_strides((2, 3), [((2, 3), (-3, -1))]) == (3, 1)
    assert layouts.pointwise_strides((2, 3), [((2, 3), (1, -2))]) == (1, 2)


def operand(torch: Any, shape: list[int], rng: random.Random) -> Any:
    """A tensor that broadcasts to `shape`: permuted, sliced, channels last, expanded, or with fewer dimensions."""
    sizes = [size if rng.random() < 0.75 else 1 for size in shape]
    if rng.random() < 0.25:
        sizes = sizes[rng.randint(0, len(sizes)) :]
    ndim = len(sizes)
    kind = rng.random()
    if kind < 0.5:
        order = rng.sample(range(ndim), ndim)
        made = torch.zeros([sizes[dim] for dim in order]).permute([order.index(dim) for dim in range(ndim)])
    elif kind < 0.65:
        made = torch.zeros([2 * size for size in sizes])[tuple(slice(0, 2 * size, 2) for size in sizes)]
    elif kind < 0.8 and ndim == 4:
        made = torch.zeros(sizes).contiguous(memory_format=torch.channels_last)
    else:
        made = torch.zeros(sizes)
    wide = [
        to if size == 1 and rng.random() < 0.3 else size
        for size, to in zip(sizes, shape[len(shape) - ndim :], strict=True)
    ]
    return made.expand(wide)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(4))
def test_strides_of_pointwise_results(seed: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    rng = seeds.generator(seed)
    operators = [(1, torch.sin), (2, torch.add), (2, torch.mul), (3, torch.addcmul)]
    for _ in range(2000):
        sizes = [1, 1, 2, 3, 4, 0] if rng.random() < 0.1 else [1, 1, 2, 3, 4]
        shape = rng.choices(sizes, k=rng.randint(0, 5))
        arity, operator = rng.choice(operators)
        given = [operand(torch, shape, rng) for _ in range(arity)]
        if arity == 2 and rng.random() < 0.3:
            given[1] = 2.5
        seen = [(tuple(x.shape), x.stride()) if torch.is_tensor(x) else ((), ()) for x in given]
        expected = operator(*given)
        result = layouts.broadcast_shapes([sizes for sizes, _ in seen])
        assert result == tuple(expected.shape)
        assert layouts.pointwise_strides(result, seen) == expected.stride(), seen
