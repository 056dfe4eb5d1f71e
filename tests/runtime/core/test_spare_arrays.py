"""Arrays that serve again: only what nobody can reach any more, and only as NumPy would make it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright


def made(*shape: int) -> opwright.Tensor:
    """A tensor on an array that a loop of the core makes."""
    return opwright.add(opwright.ones(*shape), opwright.ones(*shape))


def held(tensor: opwright.Tensor) -> object:
    return tensor.array


def held_by_a_view(tensor: opwright.Tensor) -> object:
    return tensor.array[1:]


def exported(tensor: opwright.Tensor) -> object:
    return memoryview(tensor.array)


def aliased(tensor: opwright.Tensor) -> object:
    return tensor.detach()


def viewed(tensor: opwright.Tensor) -> object:
    return tensor[0]


@pytest.mark.parametrize("hold", [held, held_by_a_view, exported, aliased, viewed])
def test_what_somebody_has_is_not_written_to(hold: Callable[[opwright.Tensor], object]) -> None:
    tensor = made(3, 5)
    kept = hold(tensor)
    before = np.array(kept.array if isinstance(kept, opwright.Tensor) else kept)
    del tensor
    others = [opwright.mul(made(3, 5), 7.0) for _ in range(20)]
    assert np.array_equal(kept.array if isinstance(kept, opwright.Tensor) else np.array(kept), before)
    assert len({each.array.ctypes.data for each in others}) == 20


def test_an_array_that_is_watched_dies_with_its_tensor() -> None:
    tensor = made(4)
    watched = weakref.ref(tensor.array)
    del tensor
    assert watched() is None


@pytest.mark.parametrize(
    "change",
    [
        lambda array: array.setflags(write=False),
        lambda array: setattr(array, "shape", (2, 6)),
        lambda array: setattr(array, "dtype", np.int32),
        lambda array: setattr(array, "dtype", ">f4"),
        lambda array: array.resize((2, 2), refcheck=False),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_was_changed_serves_as_it_is_or_not_at_all(change: Callable[[np.ndarray], None]) -> None:
    for _ in range(5):
        tensor = made(3, 4)
        change(tensor.array)
        del tensor
    for shape in ((3, 4), (2, 6), (2, 2)):
        found = made(*shape)
        new = np.empty(shape, np.float32)
        assert found.array.flags == new.flags and found.array.flags.owndata
        assert found.array.strides == new.strides and found.array.dtype == new.dtype
        assert np.array_equal(found.array, np.full(shape, 2, np.float32))


def test_shapes_and_dtypes_take_turns() -> None:
    for turn in range(300):
        shape = (1 + turn % 7, 1 + turn % 11)
        for dtype in (np.float32, np.float64, np.int64):
            x = opwright.from_numpy(np.full(shape, turn, dtype))
            assert np.array_equal(opwright.add(x, x).array, np.full(shape, 2 * turn, dtype))


def test_large_arrays_are_kept_up_to_a_bound() -> None:
    shape = (64, 1024)
    ones = opwright.ones(*shape)
    first = opwright.add(ones, ones)
    place = first.array.ctypes.data
    del first
    again = opwright.add(ones, ones)
    assert again.array.ctypes.data == place or opwright.dispatch.core().name != "fast"
    for size in range(1, 64):  # more than are kept, of more memory together
        assert np.array_equal(made(size, 1 << 15).array[-1, -3:], np.full(3, 2, np.float32))
    assert np.array_equal(again.array, np.full(shape, 2, np.float32))


def test_large_arrays_behind_views_and_storages_serve_again() -> None:
    ones = opwright.ones(64, 1000)
    kept: Any = None

    def place_of(view: Callable[[opwright.Tensor], opwright.Tensor], keep: Callable[[opwright.Tensor], object]) -> int:
        nonlocal kept
        whole = opwright.add(ones, ones)
        place: int = whole.array.ctypes.data
        kept = keep(view(whole))
        return place

    for view in (lambda x: x.view(16, 4000), lambda x: x.t(), lambda x: x.add_(1).detach(), lambda x: x[3:].t()):
        place = [place_of(view, lambda _: None) for _ in range(3)][-1]  # the first calls are the Python's
        filler = np.empty((64, 1000), np.float32)  # which gets what was given back to the system
        assert opwright.add(ones, ones).array.ctypes.data == place or opwright.dispatch.core().name != "fast"
        del filler
        for keep in (held, exported, aliased, lambda view: view.array.base, lambda view: view.untyped_storage()):
            place = place_of(view, keep)
            assert opwright.add(ones, ones).array.ctypes.data != place or kept is None
        place_of(view, lambda view: weakref.ref(view.array))
        assert kept() is None


def test_gradients_that_somebody_has_get_nothing_added() -> None:
    x = made(40, 40).requires_grad_()
    seen: list[opwright.Tensor] = []
    parts = [opwright.mul(x, float(factor)) for factor in range(1, 6)]
    for part in parts[::2]:
        part.register_hook(seen.append)
    given = opwright.full((40, 40), 3.0)
    sum(parts[1:], parts[0]).backward(given)
    assert x.grad is not None and np.array_equal(x.grad.array, np.full((40, 40), 45, np.float32))
    assert (
        all(np.array_equal(each.array, np.full((40, 40), 3, np.float32)) for each in (given, *seen)) and len(seen) == 3
    )
    whole = opwright.add(opwright.add(x, x), x)
    (found,) = opwright.autograd.grad(whole, x, given)
    assert np.array_equal(found.array, np.full((40, 40), 9, np.float32)) and float(given.array.max()) == 3
