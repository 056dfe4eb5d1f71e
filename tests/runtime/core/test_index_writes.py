"""`tensor[...] = value` and the operators that write at positions, in place: drawn calls on targets of any strides,
beside NumPy's writes and the Python that defines them. What is refused has written nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright_core.core import fast

pytestmark = pytest.mark.skipif(fast is None, reason="what is compared is the compiled core's")
Drawn = tuple[np.ndarray[Any, Any], Callable[[Any], Any]]


def _target(draw: random.Random, shape: tuple[int, ...]) -> Drawn:
    """Return an array, and the view of it that is written to: itself, turned, every other element, or a part."""
    values = seeds.numpy_generator(draw.randrange(1000))
    dtype = draw.choice(["f4", "f8", "i8", "?"])
    kind = draw.randrange(4)
    whole = {0: shape, 1: shape[::-1], 2: (*shape[:-1], 2 * shape[-1]), 3: (2, *shape)}[kind]
    views: list[Callable[[Any], Any]] = [
        lambda x: x, lambda x: x.T if x.ndim == 2 else x, lambda x: x[..., ::2], lambda x: x[1],
    ]  # fmt: skip
    array = (values.normal(size=whole) * 3).astype(dtype)
    return array, views[kind] if len(shape) == 2 or kind != 1 else views[0]


def _index(draw: random.Random, shape: tuple[int, ...]) -> Any:
    items: list[Any] = []
    for dim, size in enumerate(shape):
        kind = draw.choice("i:snPPPMl")
        if kind == "n":
            items += [None, slice(None)]
        elif kind == "M":
            mask = np.array([draw.random() < 0.5 for _ in range(int(np.prod(shape[dim:])))]).reshape(shape[dim:])
            items.append(mask)
            break
        else:
            least = -size - (draw.random() < 0.03)
            given: dict[str, Any] = {
                "i": draw.randrange(least, size), ":": slice(None), "s": slice(draw.randrange(-size, size), None, 2),
                "P": np.array([draw.randrange(least, size) for _ in range(3)]), "l": [0, size - 1],
            }  # fmt: skip
            items.append(given[kind])
    return tuple(items) if draw.random() < 0.8 else items[0]


def _as_ours(index: Any) -> Any:
    """Return an index with tensors for arrays."""
    if isinstance(index, tuple):
        return tuple(_as_ours(each) for each in index)
    return opwright.from_numpy(index) if isinstance(index, np.ndarray) else index


def _outcome(write: Callable[[Any], object], array: Any, view: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the bytes of all memory after a write, how often it was counted, and the class and words of an error."""
    whole = opwright.from_numpy(array.copy())
    part = view(whole)
    before = whole._version
    try:
        write(part)
    except Exception as error:
        assert bytes(whole.numpy()) == array.tobytes()
        return type(error), str(error), 0, whole._version - before
    return whole.numpy().tobytes(), "", 1, whole._version - before


def test_drawn_indices() -> None:
    draw = seeds.generator(5)
    defined: Any = opwright.Tensor.__setitem__
    while hasattr(defined, "function"):
        defined = defined.function
    written = 0
    for _ in range(500):
        shape = tuple(draw.randrange(1, 5) for _ in range(draw.randrange(1, 4)))
        array, view = _target(draw, shape)
        part = view(array)
        index = _index(draw, part.shape)
        try:
            chosen = np.atleast_1d(part[index])
        except IndexError:
            chosen = np.zeros(1)
        value: Any = draw.choice([1, True, 2.5, chosen[::-1], chosen[:1], np.ones(7)])
        value = value if isinstance(value, (int, float)) else opwright.from_numpy(np.array(value, array.dtype))
        ours = _as_ours(index)

        def fast_write(x: Any, ours: Any = ours, value: Any = value) -> None:
            x[ours] = value

        found = _outcome(fast_write, array, view)
        expected = _outcome(lambda x, ours=ours, value=value: defined(x, ours, value), array, view)
        assert found == expected, (array, index, value)
        written += found[2]
        if found[2]:
            copied = array.copy()
            given = np.asarray(value)
            view(copied)[index] = given.reshape(()) if given.size == 1 else given
            assert copied.tobytes() == found[0], (array, index, value)
    assert 200 < written < 500


def test_drawn_positions() -> None:
    """The same operators on copies, whose results are put back, and by the kernels in Python."""
    draw = seeds.generator(6)
    written = 0
    for _ in range(250):
        shape = tuple(draw.randrange(1, 5) for _ in range(draw.randrange(1, 4)))
        array, view = _target(draw, shape)
        part = view(array)
        dim = draw.randrange(-part.ndim, part.ndim)
        size = part.shape[dim]
        values = seeds.numpy_generator(draw.randrange(1000))
        along = values.integers(-(draw.random() < 0.05), size, 3)
        places = values.integers(0, size + (draw.random() < 0.05), part.shape)
        slices = np.moveaxis(np.zeros((3, *np.moveaxis(part, dim, 0).shape[1:]), array.dtype), 0, dim) + array.flat[0]
        index, positions = opwright.from_numpy(along), opwright.from_numpy(places)
        source = opwright.from_numpy(np.ascontiguousarray(part[::-1]))
        mask = opwright.from_numpy(np.array(places > 0))
        calls: list[tuple[str, tuple[Any, ...]]] = [
            ("index_add", (dim, index, opwright.from_numpy(slices))),
            ("index_copy", (dim, index, opwright.from_numpy(slices))),
            ("index_fill", (dim, index, array.flat[0].item())),
            ("scatter", (dim, positions, source)),
            ("scatter_add", (dim, positions, source)),
            ("scatter_reduce", (dim, positions, source, draw.choice(["sum", "prod", "amax", "amin", "mean"]))),
            ("masked_fill", (mask, array.flat[0].item())),
            ("masked_scatter", (mask, source)),
            ("put", (index, source.reshape(-1)[:3] if source.numel() > 2 else source[:0])),
        ]
        name, args = draw.choice(calls)
        found = _outcome(lambda x, name=name, args=args: getattr(x, f"{name}_")(*args), array, view)

        def copying(x: Any, name: str = name, args: Any = args) -> None:
            x.copy_(getattr(x, name)(*args))

        expected = _outcome(copying, array, view)
        assert found[:1] == expected[:1], (name, array, args)
        written += found[2]
    assert written > 150


def test_recorded_writes() -> None:
    """A write to a view is a step of the base's history; a saved tensor that was written to is noticed."""
    x = opwright.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y, v = x * 2, opwright.tensor([5.0, 6.0], requires_grad=True)
    y[1:3] = v
    y[opwright.tensor([0, 0])] = v
    y[y > 7] = 1.0
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0, 0]
    assert v.grad is not None and v.grad.tolist() == [
        2,
        2,
    ]  # (each value's own, as in PyTorch, also of one overwritten)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1.0
    saved = x.exp()
    saved[0] = 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
    with opwright.no_grad():
        before = x._version
        x[:2] = 7.0
    assert x._version == before + 1 and x.tolist() == [7, 7, 3, 4]


def test_modes_see_writes() -> None:
    """A dispatch mode sees the operators that C calls, and may refuse them."""
    from opwright.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        names: list[str] = []  # noqa: RUF012

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    x = opwright.zeros(3, 2)
    with Seen():
        x[0] = 1
        x[1:] = x[0]
        x[[0, 1]] = 2.0
    written = [name.split(".")[-2] for name in Seen.names]
    assert [name for name in written if name.endswith("_")] == ["fill_", "copy_", "index_put_"]
