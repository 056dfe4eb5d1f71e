"""`tensor[...]` with positions and masks among its indices, and `tensor` of nested numbers: drawn ones, beside NumPy
and beside the Python that defines them."""

from __future__ import annotations

import decimal
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright import Tensor
from opwright.creation import construction
from opwright_core.core import fast

Outcome = tuple[Any, ...]


def _defined(method: Any) -> Callable[..., Any]:
    """Return the Python function behind what serves in its place."""
    while hasattr(method, "function"):
        method = method.function
    found: Callable[..., Any] = method
    return found


def _outcome(call: Callable[[], Any]) -> Outcome:
    """Return what a call made, or the class and the words of its error."""
    try:
        made = call()
    except Exception as error:
        return str(error), type(error), "", ""
    array = made.array if isinstance(made, Tensor) else np.asarray(made)
    keys = made.keys if isinstance(made, Tensor) else None
    return array.shape, array.strides, array.dtype, array.tolist(), keys


def _positions(draw: random.Random, size: int) -> Any:
    """Return positions along a dimension, as an array, a tensor or a list, some of them out of range."""
    shape = draw.choice([(0,), (1,), (3,), (2, 2), ()])
    least = -size if draw.random() < 0.5 else 0
    found = np.array([draw.randint(least, size - (draw.random() < 0.95)) for _ in range(int(np.prod(shape)))], int)
    given: tuple[Callable[[Any], Any], ...] = (opwright.tensor, opwright.tensor, np.asarray, np.ndarray.tolist)
    return draw.choice(given)(found.reshape(shape))


def _index(draw: random.Random, shape: tuple[int, ...]) -> Any:
    """Return an index of a tensor of that shape: ints, slices, None, an ellipsis, positions, masks, and wrong ones."""
    items: list[Any] = []
    dim, rest = 0, [Ellipsis]
    while dim < len(shape) and draw.random() < 0.85:
        kind, size = draw.choice("iss:n.PPPMMw"), shape[dim]
        if kind == "." and rest:
            items.append(rest.pop())
            dim += draw.randrange(2)
        elif kind == "n":
            items.append(None)
        elif kind == "w" and draw.random() < 0.5:
            items.append(draw.choice([1.5, "a", [1, "a"], [[0], [0, 0]], True, 10**30, [10**30], np.int8(0), []]))
        elif kind == "M":
            mask = np.array([draw.random() < 0.6 for _ in range(int(np.prod(shape[dim : dim + 2])))], bool)
            taken = draw.choice([1, 2])
            mask = mask.reshape(shape[dim : dim + 2]) if taken == 2 else mask[:size]
            items.append(draw.choice([mask, opwright.tensor(mask)]))
            dim += mask.ndim
        else:
            step = draw.choice([None, 1, 2, -1])
            ends = [draw.choice([None, draw.randint(-size - 1, size + 1)]) for _ in range(2)]
            others = {"i": draw.randint(-size, size - 1), ":": slice(None), "s": slice(*ends, step)}
            items.append(others[kind] if kind in others else _positions(draw, size))
            dim += 1
    return tuple(items) if len(items) != 1 or draw.random() < 0.5 else items[0]


def _as_numpy(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple([_as_numpy(each) for each in index])
    return index.numpy() if isinstance(index, Tensor) else index


def test_indices_are_those_of_numpy_and_of_the_python() -> None:
    draw, compared = seeds.generator(0), 0
    python = _defined(Tensor.__getitem__)
    for _ in range(700):
        shape = tuple([draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 4))])
        array = np.arange(int(np.prod(shape))).reshape(shape).transpose(draw.sample(range(len(shape)), len(shape)))
        array = array.astype(draw.choice(["f4", "i8", "i2", "c16"]))
        tensor, index = opwright.from_numpy(array), _index(draw, array.shape)
        for _ in range(2):  # the second call is planned
            found = _outcome(lambda tensor=tensor, index=index: tensor[index])
        assert found == _outcome(lambda tensor=tensor, index=index: python(tensor, index)), (shape, index)
        expected = _outcome(lambda array=array, index=index: array[_as_numpy(index)])
        numbers = isinstance(index, tuple) and any(
            isinstance(each, int) or getattr(each, "shape", None) == () for each in index
        )
        if 4 not in (len(found), len(expected)) and not numbers:  # which are positions beside others in NumPy
            compared += 1
            assert (found[0], *found[2:4]) == (expected[0], *expected[2:4]), (shape, index)
    assert compared > 200


def test_gradients_go_to_the_elements_that_were_chosen() -> None:
    for index in ([0, 0], opwright.tensor([2, -1]), opwright.tensor([True, False, True]), (slice(1, None), [0])):
        leaf = opwright.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        leaf[index].sum().backward()
        counts = np.zeros((3, 2), np.float32)
        np.add.at(counts, _as_numpy(index), 1)
        np.testing.assert_array_equal(leaf.grad.numpy(), counts)


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_a_kernel_of_a_user_serves_indices_too() -> None:
    seen = []

    def mine(tensor: Tensor, indices: list[Tensor | None]) -> Tensor:
        seen.append([None if each is None else each.shape for each in indices])
        return tensor

    library = opwright.library.Library("aten", "IMPL")
    tensor = opwright.arange(12).reshape(3, 4)
    assert tensor[:, [1]].shape == (3, 1)
    with pytest.warns(UserWarning):
        library.impl("index.Tensor", mine, "CPU")
    try:
        assert tensor[:, [1, 2]] is tensor
        assert tensor[tensor > 3] is tensor
    finally:
        library._destroy()
    assert seen == [[None, (2,)], [(3, 4)]]
    assert tensor[:, [1]].shape == (3, 1)


LEAVES = {
    "i": (0, -3, 7, 300), "h": (2**63 - 1, -(2**63), 2**53 + 1, 2**24 + 1), "o": (2**63, 10**400), "b": (True, False),
    "f": (1.5, float("inf"), 1e300, -0.0), "c": (1j,), "d": (decimal.Decimal("1.5"),), "s": ("a",), "n": (None,),
    "g": (np.float32(1.5), np.int16(3), np.bool_(True)), "t": (np.arange(2), np.array(3)),
}  # fmt: skip
MIXES = ("i", "b", "f", "h", "fi", "bi", "bfi", "fh", "io", "fo", "fc", "fd", "fs", "in", "fg", "ft")


def _nested(draw: random.Random, shape: list[int], mix: str) -> Any:
    if not shape or draw.random() < 0.01:
        return draw.choice(LEAVES[draw.choice(mix)])
    found = [_nested(draw, shape[1:], mix) for _ in range(shape[0] + (draw.random() < 0.02))]
    return tuple(found) if draw.random() < 0.2 else found


def test_tensors_of_nested_numbers_are_those_of_the_python() -> None:
    draw = seeds.generator(1)
    dtypes = [None, None, "float32", "float64", "float16", "bfloat16", "complex64", "bool", "uint8", "int8", "int16"]
    for _ in range(900):
        data = _nested(draw, [draw.randint(0, 3) for _ in range(draw.randint(0, 3))], draw.choice(MIXES))
        name = draw.choice(dtypes)
        dtype = None if name is None else getattr(opwright, name)
        found = _outcome(lambda data=data, dtype=dtype: opwright.tensor(data, dtype=dtype))
        python = _outcome(lambda data=data, dtype=dtype: construction._new_array(data, dtype, None))
        assert str([*found[:1], *found[2:4]]) == str([*python[:1], *python[2:4]]), (data, name)


def test_a_list_that_holds_itself_is_refused() -> None:
    data: list[Any] = []
    data.append(data)
    with pytest.raises(ValueError, match="dimensions"):
        opwright.tensor(data)
