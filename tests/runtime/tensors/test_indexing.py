"""Indexing over the generated operators, against PyTorch: values, strides, views, what is written, what is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright_core.tensors.tensor import Tensor

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

MASK = np.array([[True, False, True], [False, True, False]])


def pair(shape: tuple[int, ...]) -> tuple[Tensor, Any]:
    data = np.arange(float(np.prod(shape))).reshape(shape)
    return opwright.from_numpy(data.copy()), torch.from_numpy(data.copy())


def theirs_of(index: Any) -> Any:
    """The same index for PyTorch: arrays as tensors."""
    if isinstance(index, tuple):
        return tuple(theirs_of(each) for each in index)
    return torch.from_numpy(index.copy()) if isinstance(index, np.ndarray) else index


EXAMPLES: list[Any] = [
    0,
    -1,
    (),
    ...,
    None,
    slice(None),
    (slice(None, None, 2), ..., -1),
    (1, slice(1, None), slice(0, 10, 3)),
    (None, 0, None, ..., None),
    True,
    False,
    (True, 0),
    (slice(None), True, 0),
    [0, 1],
    [],
    (0, [1]),
    ([0, 1], slice(None), [0, 1]),
    (slice(None), [0, 1], [0, 1]),
    ([[0, 1], [1, 0]],),
    (True, [0, 1]),
    [True, False],
    MASK,
    (MASK, 0),
    (MASK, slice(None, 2)),
    (0, MASK[0]),
    (None, MASK),
    (..., np.array([0, 3])),
    (np.array(1), slice(None)),
    np.array(True),
    (slice(5, 2), 0),
    np.array([[-1]]),
]


# Of three rows of three: lists that stand for tuples, lists of tensors, sequences beside other indices, '...' twice.
SEQUENCES: list[Any] = [
    lambda t: [[0, 1], [1, 0]],
    lambda t: [[[0, 1], [1, 0]]],
    lambda t: ([[0, 1], [1, 0]],),
    lambda t: [(0, 1), [1, 0]],
    lambda t: [range(2), range(2)],
    lambda t: [[0, 1]],
    lambda t: [[0], 1],
    lambda t: [0, [1, 2]],
    lambda t: [[True, False, True]],
    lambda t: [[True, False, True], [1, 2]],
    lambda t: [[[True, 0]]],
    lambda t: [[], []],
    lambda t: [[[]]],
    lambda t: [t.tensor(0), t.tensor(1)],
    lambda t: [t.tensor([0, 1]), t.tensor([0, 1])],
    lambda t: [t.tensor([True, False, True]), 0],
    lambda t: [np.array([0, 1]), np.array([0, 1])],
    lambda t: [np.array(1)],
    lambda t: [np.int64(1), 0],
    lambda t: [0, slice(1)],
    lambda t: [None],
    lambda t: [..., 0],
    lambda t: [[0, 1]] * 32,
    lambda t: [0] * 32,
    lambda t: ((0, 1), (1, 0)),
    lambda t: (slice(None), (0, 1)),
    lambda t: (slice(None), ()),
    lambda t: ((),),
    lambda t: (((0, 1), (1, 0)),),
    lambda t: (slice(None), ((0, 1), (1, 0))),
    lambda t: (slice(None), (True, False, True)),
    lambda t: (slice(None), range(2)),
    lambda t: (slice(None), [t.tensor(0), 1]),
    lambda t: (slice(None), [[t.tensor(0), 1]]),
    lambda t: (t.Size([0, 1]),),
    lambda t: t.Size([0, 1]),
    lambda t: (..., ...),
    lambda t: (..., 0, ...),
    lambda t: (..., 0, ..., 0),
    lambda t: (..., None, ...),
    lambda t: (..., [0], ...),
]


@pytest.mark.filterwarnings("ignore:.*non-tuple sequence", "ignore:a list of sequences")
@pytest.mark.parametrize("place", range(len(SEQUENCES)))
def test_sequences_as_indices(place: int) -> None:
    index = SEQUENCES[place]
    ours, theirs = pair((3, 3))
    assert ours[index(opwright)].tolist() == theirs[index(torch)].tolist(), index(torch)
    ours[index(opwright)] = 7.0
    theirs[index(torch)] = 7.0
    assert ours.tolist() == theirs.tolist(), index(torch)


def test_lists_that_stand_for_tuples_warn() -> None:
    x, _ = pair((3, 3))
    with pytest.warns(UserWarning, match=r"Write tensor\[tuple\(index\)\]") as caught:
        x[[[0, 1], [1, 0]]]
    with pytest.warns(UserWarning, match="stands for a tuple"):
        x[[slice(1), 0]] = 3.0
    assert caught[0].filename == __file__


TOO_MANY: list[Any] = [
    [[0, 1]] * 3,
    (..., ..., 0),
    (..., 0, ..., 0, 0),
    (..., ..., [0]),
    (..., ..., None),
    ([0, 1], [[0, 1], [0]]),
    (slice(None), ["a"]),
]


@pytest.mark.filterwarnings("ignore:.*non-tuple sequence", "ignore:a list of sequences")
@pytest.mark.parametrize("index", TOO_MANY, ids=repr)
def test_sequences_that_are_refused(index: Any) -> None:
    ours, theirs = pair((3, 3))
    with pytest.raises((IndexError, ValueError, TypeError)):
        theirs[index]
    with pytest.raises(IndexError):
        ours[index]


@pytest.mark.parametrize("index", EXAMPLES, ids=repr)
def test_reading(index: Any) -> None:
    ours, theirs = pair((2, 3, 4))
    check(ours, ours[index], theirs[theirs_of(index)], index)
    by_tensor = tuple(opwright.tensor(each) if isinstance(each, np.ndarray) else each for each in as_tuple(index))
    assert ours[by_tensor].tolist() == ours[index].tolist()


def as_tuple(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def check(source: Tensor, ours: Tensor, theirs: Any, index: Any) -> None:
    assert ours is not source
    assert (ours.shape, ours.stride()) == (tuple(theirs.shape), theirs.stride()), index
    assert ours.tolist() == theirs.tolist(), index
    assert (ours._base is source) == theirs._is_view(), index
    if theirs._is_view() and ours.numel():
        assert ours.storage_offset() == theirs.storage_offset()


def random_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    items: list[Any] = []
    for size in shape[: rng.randint(0, len(shape))]:
        match rng.randint(0, 5):
            case 0:
                items.append(rng.randrange(-size, size))
            case 1 | 2:
                items.append(
                    slice(rng.choice([None, 0, 1, -2]), rng.choice([None, size, -1, 1]), rng.choice([None, 1, 2]))
                )
            case 3:
                items.append([rng.randrange(-size, size) for _ in range(3)])
            case 4:
                items.append(np.array([rng.random() < 0.5 for _ in range(size)]))
                if items[-1].sum() != 3:  # so that it broadcasts with the lists of three
                    items[-1] = slice(None)
            case 5:
                items.append(np.array([[rng.randrange(size)]]))
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), None)
    return tuple(items) if rng.random() < 0.6 else (*items, ...)


@pytest.mark.parametrize("seed", range(3))
def test_random_reading_and_writing(seed: int) -> None:
    rng = seeds.generator(seed)
    for _ in range(300):
        shape = tuple(rng.choices([1, 2, 3, 4, 5], k=rng.randint(1, 4)))
        ours, theirs = pair(shape)
        if rng.random() < 0.4:
            ours, theirs = ours.T, theirs.permute(*range(len(shape) - 1, -1, -1))
        index = random_index(rng, ours.shape)
        part, expected = ours[index], theirs[theirs_of(index)]
        assert (part.shape, part.stride(), part.tolist()) == (
            tuple(expected.shape),
            expected.stride(),
            expected.tolist(),
        ), (index, ours.shape, ours.stride())
        value = rng.choice([7, np.full(expected.shape, 5.0), np.full((1, *expected.shape[-1:]), 3.0)])
        theirs[theirs_of(index)] = value if isinstance(value, int) else torch.from_numpy(value)
        ours[index] = value
        assert ours.tolist() == theirs.tolist(), index


@pytest.mark.parametrize(
    "index, value",
    [
        (0, 1),
        (0, True),
        (0, np.ones((1, 1, 3))),
        ([0, 1], np.ones((1, 1, 3))),
        (np.array([[True, False, True], [False, True, False]]), 5),
        (np.ones((2, 3), bool), np.arange(6.0)),
        (True, 4),
        (False, 4),
        ((slice(None), 0), np.array([1, 2])),
        (np.array(1), 3),
        (..., 2),
        (None, 2),
        ((0, 0), np.array([5.0])),
        ([], 1),
    ],
    ids=repr,
)
def test_writing(index: Any, value: Any) -> None:
    ours, theirs = pair((2, 3))
    theirs[theirs_of(index)] = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    ours[index] = value
    assert ours.tolist() == theirs.tolist()


REFUSED: list[tuple[Any, type[Exception]]] = [
    (5, IndexError),
    ((0, 0, 0), IndexError),
    (1.5, IndexError),
    ([0, 5], IndexError),
    (np.array([True]), IndexError),
    (np.ones((2, 2), bool), IndexError),
    (([0, 1], [0, 1, 2]), IndexError),
    (np.array([1.0]), IndexError),
    (slice(None, None, 0), ValueError),
]


@pytest.mark.parametrize("index, error", REFUSED, ids=repr)
def test_refused(index: Any, error: type[Exception]) -> None:
    ours, theirs = pair((2, 3))
    with pytest.raises(error) as expected:
        theirs[theirs_of(index)]
    with pytest.raises(error) as caught:
        ours[index]
    if not isinstance(index, (slice, float)):
        assert str(caught.value).split(",")[0].split(" but")[0] == str(expected.value).split(",")[0]


def test_refused_in_our_own_words() -> None:
    x = opwright.tensor([1.0, 2.0])
    with pytest.raises(IndexError, match="got str"):
        x["a"]
    with pytest.raises(IndexError, match="0-dim tensor"):
        opwright.tensor(1)[0]
    with pytest.raises(IndexError, match=r"what follows '\.\.\.' is beyond the last"):
        opwright.ones(2, 2)[..., ..., 0]
    with pytest.raises(IndexError, match="ragged"):
        x[[[0], [0, 1]],]
    with pytest.raises(ValueError, match="greater than zero"):
        x[::0]
    with pytest.raises(ValueError, match="can be read, but not written to"):
        opwright.ones(2, 2)[::-1, np.array([0])] = opwright.tensor(1.0)
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1]
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 1j


@pytest.mark.parametrize("seed", range(4))
def test_negative_steps_are_numpys(seed: int) -> None:
    """PyTorch refuses them. Here what is read is a copy, and what is written reaches the tensor."""
    rng = seeds.numpy_generator(seed)
    ends = [None, 0, 1, -2, 5]
    for _ in range(100):
        x = rng.normal(size=(4, 3, 5))
        parts = [slice(*rng.choice(ends, 2), rng.choice([-1, -2, -5, 1])) for _ in range(rng.integers(1, 4))]
        key = tuple(each if rng.random() < 0.8 else rng.choice([None, -1]) for each in parts)
        expected = x[key]
        tensor = opwright.tensor(x)
        np.testing.assert_array_equal(tensor[key].numpy(), expected)
        values = rng.normal(size=expected.shape)
        x[key] = values
        tensor[key] = opwright.tensor(values)
        np.testing.assert_array_equal(tensor.numpy(), x)
    order = np.array([2, 0])
    np.testing.assert_array_equal(opwright.tensor(x)[::-1, order].numpy(), x[::-1, order])
    given = opwright.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (given[::-2] * opwright.tensor([1.0, 10.0])).sum().backward()
    assert given.grad.tolist() == [10.0, 0.0, 1.0]


def test_writes_through_views() -> None:
    x = opwright.zeros((2, 3))
    x[1][1:][0] = 5
    assert x.tolist() == [[0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    assert [row.tolist() for row in x] == x.tolist()


@pytest.mark.parametrize("data", [np.eye(3), np.zeros((2, 3)), np.array(4), np.zeros((0, 2))], ids=str)
def test_nonzero_as_tuple(data: np.ndarray) -> None:
    found = opwright.nonzero(opwright.from_numpy(data), as_tuple=True)
    expected = torch.nonzero(torch.from_numpy(data), as_tuple=True)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert [each.tolist() for each in opwright.from_numpy(data).nonzero(as_tuple=True)] == [
        each.tolist() for each in expected
    ]
    assert all(type(each) is np.ndarray for each in opwright.nonzero(data, as_tuple=True))


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x, i: x.__setitem__(x > 1, np.float64(7)),
        lambda t, x, i: x.__setitem__(x > 1, x.double().mean()),
        lambda t, x, i: x.__setitem__(x > 1, t.tensor(3)),
        lambda t, x, i: x.__setitem__((None, x > 1), t.tensor([[3]])),
        lambda t, x, i: x.__setitem__([0, 2], np.float64(7)),
        lambda t, x, i: x.__setitem__([0, 2], np.int64(7)),
        lambda t, x, i: x.__setitem__(0, np.float64(1.5)),
        lambda t, x, i: i.__setitem__(i == 0, t.tensor(2.7)),
        lambda t, x, i: i.__setitem__(0, np.float64(2.7)),
        lambda t, x, i: x.__setitem__(x > 1, t.tensor([8, 9])),
        lambda t, x, i: x.__setitem__(x > 1, t.tensor(1j)),
        lambda t, x, i: x.__setitem__([0], t.tensor(3)),
        lambda t, x, i: x.__setitem__([0], x.double().mean()),
        lambda t, x, i: i.__setitem__([0], t.tensor([2.7])),
        lambda t, x, i: x.__setitem__(0, np.complex128(1j)),
    ],
)
def test_numbers_of_other_dtypes_are_written(write: Any) -> None:
    from both import check

    def programme(t: Any) -> Any:
        x, i = t.arange(4.0), t.zeros(3, dtype=t.int64)
        write(t, x, i)
        return x, i

    check(programme)


def test_gradients_of_what_is_cast_and_written() -> None:
    from both import check

    def programme(t: Any) -> Any:
        value = t.tensor(3.0, dtype=t.float64, requires_grad=True)
        x = t.arange(4.0) * 1
        x[x > 1] = value
        (x * t.arange(4.0)).sum().backward()
        return x, value.grad

    check(programme)


@pytest.mark.parametrize("limit", [-1.0, 100.0])
def test_a_number_of_a_level_that_is_a_mask(limit: float) -> None:
    def written(t: Any, x: Any) -> Any:
        y, other = x.clone(), t.ones(())
        y[x.sum() > limit] = 3.0
        y[0, x[0, 0] > limit] = 5.0
        other[x.sum() > limit] = 0.0
        return y.sum() + other * x.sum()

    def read(t: Any, x: Any) -> Any:
        return (x[x.sum() > limit] * x).sum() + x[0, x[0, 0] > limit].sum()

    for function in (written, read):
        for transform in ("grad", "hessian"):
            ours, theirs = pair((2, 3))
            found = getattr(opwright.func, transform)(lambda x, function=function: function(opwright, x))(ours)
            wanted = getattr(torch.func, transform)(lambda x, function=function: function(torch, x))(theirs)
            assert found.tolist() == wanted.tolist(), (function, transform)


@pytest.mark.parametrize(
    "index",
    [(0, 5), (4, 5), (0, 1, 15), (slice(None), slice(None), 12), (None, 0, 7), (True, 0, 7), (slice(1, None), 0, 17)],
)
def test_what_is_out_of_range_names_the_dimension(index: Any) -> None:
    ours, theirs = pair((2, 5, 10))
    with pytest.raises(IndexError) as wanted:
        theirs[index]
    for call in (lambda: ours[index], lambda: ours.__setitem__(index, 1.0)):
        with pytest.raises(IndexError) as found:
            call()
        assert str(found.value) == str(wanted.value)
