"""Cases: the arguments of one call as values, each array with the way in which it is to lie in memory.

A case is made into a call as often as one likes, each time in new memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.tensors.tensor import wrap
from opwright_gate import checking
from opwright_gate.memory import flush, misaligned, protected

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["CALLED", "LAYOUTS", "MOST", "ROW_MAJOR", "WRITABLE", "Array", "Case", "drawn", "lay"]

ROW_MAJOR: Final = "row-major"
MOST: Final = 30_000  # elements of an array
WRITABLE: Final = ("transposed", "sliced", "backwards", "offset 1", "offset 4", "misaligned")
LAYOUTS: Final = (*WRITABLE, "expanded", "read-only")
_FROM: Final = "from opwright_gate.memory import "

CALLED: Final[set[frozenset[Any]]] = set()  # dtypes of the arrays of each call that was made since it was cleared


@dataclass(frozen=True, eq=False)
class Array:
    """The values of an array, how it lies in memory, and the text that makes the values where they are many."""

    values: np.ndarray[Any, Any]
    layout: str = ROW_MAJOR
    text: str = ""

    def __str__(self) -> str:
        layout = "" if self.layout == ROW_MAJOR else f" {self.layout}"
        return f"{self.values.dtype}{list(self.values.shape)}{layout}"


@dataclass(frozen=True, eq=False)
class Case:
    """The arguments of one call, in order: an Array for each tensor, in lists too."""

    values: tuple[Any, ...]
    note: str = ""  # what is special about it
    guarded: str = ""  # where what the call allocates meets a guarded page: "flush to the end", or to the start

    @property
    def arrays(self) -> list[Array]:
        """Return all arrays, in order."""
        return list(_arrays(self.values))

    def converted(self, convert: Callable[[Array, int], Any], note: str | None = None) -> Case:
        """Return the case with something else for each array, told its argument's position."""
        values = tuple(_converted(value, convert, place) for place, value in enumerate(self.values))
        return replace(self, values=values, note=self.note if note is None else note)

    def laid(self, layout: str, kept: frozenset[int] = frozenset()) -> Case:
        """Return the case with all arrays in a layout, but those of arguments at the positions `kept`."""
        return self.converted(lambda a, place: a if place in kept else replace(a, layout=layout), layout)

    def compact(self) -> Case:
        """Return the case with the same values, row-major."""
        return self.converted(lambda a, _: Array(np.array(lay(a), order="C"), text=_same_text(a)))

    def without_dims(self, note: str = "") -> Case:
        """Return the case with the first element of each array, in no dimensions."""
        return self.converted(lambda a, _: Array(a.values.ravel()[:1].reshape(()).copy()), note)

    def resized(self, sizes: Mapping[int, int], seed: int = 0) -> Case:
        """Return the case with other sizes wherever these stand, in lists of integers too; new values are drawn."""

        def convert(value: Array, place: int) -> Array:
            shape = tuple(sizes.get(size, size) for size in value.values.shape)
            high = int(value.values.max(initial=1)) + 1 if value.values.dtype.kind in "iu" else 4
            return drawn(shape, value.values.dtype, seed + place, high) if shape != value.values.shape else value

        moved = self.converted(convert)
        return replace(self, values=tuple(_sizes_in(value, sizes) for value in moved.values))

    def grown(self, sizes: Mapping[int, int], most: int = MOST) -> Iterator[Case]:
        """Yield the resized call, if none of its arrays has more elements than `most`."""
        lists = [value for value in self.values if isinstance(value, list) and all(type(each) is int for each in value)]
        shapes = [*(each.values.shape for each in self.arrays), *lists]
        if all(math.prod(max(sizes.get(size, size), 1) for size in shape) <= most for shape in shapes):
            yield self.resized(sizes)

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of all arrays, each once, sorted."""
        return sorted({size for each in self.arrays for size in each.values.shape})

    @property
    def may_have_positions(self) -> bool:
        """Whether integers in one array may say positions in another."""
        return len(self.arrays) > 1 and any(each.values.dtype.kind in "iu" for each in self.arrays)

    def with_value(self, position: int, value: Any, note: str = "") -> Case:
        """Return the case with another value for one argument."""
        values = (*self.values[:position], value, *self.values[position + 1 :])
        return replace(self, values=values, note=note or self.note)

    def flush(self, layout: str) -> Case:
        """Return the case with all arrays, and what the call allocates, flush to the end or to the start."""
        return self.laid(layout).guarding(layout)

    def guarding(self, layout: str = "flush to the end") -> Case:
        """Return the case with what the call allocates flush to the end or to the start."""
        return replace(self, guarded=layout)

    @property
    def dtypes(self) -> frozenset[Any]:
        """Return the dtypes of all arrays."""
        return frozenset(each.values.dtype for each in self.arrays)

    def call(self, operator: Operator) -> checking.Call:
        """Return the call, with Tensors in new memory."""
        CALLED.add(self.dtypes)
        return checking.Call(operator, [_tensors(value) for value in self.values])

    def __str__(self) -> str:
        return f"({', '.join(map(_shown, self.values))}){self.guarded and f', results {self.guarded}'}"


def drawn(shape: tuple[int, ...], dtype: Any, seed: int, high: int = 4) -> Array:
    """Return an array of random numbers, with the expression that makes it."""
    kind = np.dtype(dtype).kind
    text, made = _numbers(kind, shape, seed, high)
    return Array(np.asarray(made).astype(dtype), text=f"{text}.astype({str(np.dtype(dtype))!r})")


def _numbers(kind: str, shape: tuple[int, ...], seed: int, high: int) -> tuple[str, Any]:
    rng, start = np.random.default_rng(seed), f"np.random.default_rng({seed})"
    if kind in "iu":
        return f"np.asarray({start}.integers(0, {high}, {shape}))", rng.integers(0, high, shape)
    if kind == "b":
        return f"np.asarray({start}.integers(0, 2, {shape}))", rng.integers(0, 2, shape)
    if kind == "c":
        made = rng.uniform(-3, 3, (*shape, 2)) @ np.array([1, 1j])
        return f"np.asarray({start}.uniform(-3, 3, {(*shape, 2)}) @ np.array([1, 1j]))", made
    return f"np.asarray({start}.uniform(-3, 3, {shape}))", rng.uniform(-3, 3, shape)


def lay(value: Array) -> np.ndarray[Any, Any]:
    """Return an array of these values in new memory, lying as its layout says."""
    array = value.values
    match value.layout:
        case "transposed":
            return np.array(array, order="F")
        case "sliced" if array.ndim:
            wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
            wide[..., 1::2] = array
            return wide[..., 1::2]
        case "backwards" if array.ndim:
            return np.asarray(np.flip(np.array(np.flip(array), order="C")))
        case "offset 1" | "offset 4":
            offset = int(value.layout[-1])
            flat = np.zeros(array.size + offset, array.dtype)
            flat[offset:] = array.ravel()
            return flat[offset:].reshape(array.shape)
        case "misaligned":
            return misaligned(array)
        case "expanded" if array.ndim:
            first = np.array(array[:1], order="C")
            return np.lib.stride_tricks.as_strided(first, array.shape, (0, *first.strides[1:]))
        case "read-only":
            made = np.array(array, order="C")
            made.flags.writeable = False
            return made
        case "flush to the end" | "flush to the start":
            return flush(array, at_end=value.layout == "flush to the end")
        case "protected":
            return protected(array)
    return np.array(array, order="C")


# How each layout is written in a program: an import, and what is made of the values {}.
TEXTS: Final = {
    "transposed": ("", "np.asfortranarray({})"),
    "sliced": ("", "np.insert(np.repeat({}, 2, -1), 0, 0, -1)[..., 1::2]"),
    "backwards": ("", "np.flip(np.flip({}).copy())"),
    "offset 1": ("", "(lambda v: np.r_[np.zeros(1, v.dtype), v.ravel()][1:].reshape(v.shape))({})"),
    "offset 4": ("", "(lambda v: np.r_[np.zeros(4, v.dtype), v.ravel()][4:].reshape(v.shape))({})"),
    "misaligned": (f"{_FROM}misaligned", "misaligned({})"),
    "expanded": ("", "(lambda v: np.lib.stride_tricks.as_strided(v, v.shape, (0, *v.strides[1:])))({})"),
    "read-only": (f"{_FROM}protected", "protected({})"),
    "protected": (f"{_FROM}protected", "protected({})"),
    "flush to the end": (f"{_FROM}flush", "flush({}, at_end=True)"),
    "flush to the start": (f"{_FROM}flush", "flush({}, at_end=False)"),
}


def _same_text(value: Array) -> str:
    return "" if value.layout == "expanded" else value.text


def _arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arrays(item)


def _converted(value: Any, convert: Callable[[Array, int], Any], place: int) -> Any:
    if isinstance(value, Array):
        return convert(value, place)
    if isinstance(value, list | tuple):
        return [_converted(item, convert, place) for item in value]
    return value


def _tensors(value: Any) -> Any:
    if isinstance(value, Array):
        return wrap(lay(value))
    return [_tensors(item) for item in value] if isinstance(value, list | tuple) else value


def _sizes_in(value: Any, sizes: Mapping[int, int]) -> Any:
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        return [sizes.get(item, item) for item in value]
    return value


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value) if isinstance(value, Array) else repr(value)
