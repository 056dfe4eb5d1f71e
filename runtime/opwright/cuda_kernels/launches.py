"""Launches of CUDA kernels as data: how many blocks of how many threads run which function, with which values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = [
    "MAX_DIMS", "MAX_LISTED", "NULL", "LaunchPlan", "LaunchRule", "Limits", "packed_list", "packed_number",
    "packed_optional", "packed_sizes",
]  # fmt: skip

MAX_DIMS: Final = 16  # of the struct by which shapes and strides travel, `opwright_sizes` in the generated source
_SIZES: Final = np.dtype([("at", np.int64, (MAX_DIMS,))])
MAX_LISTED: Final = 32  # numbers of a list that travels by value, `opwright_list`
NULL: Final = np.zeros((), [("pointer", np.uintp)])  # what stands for an array that is left out
# By sort: the dtype of a number, and that of an element of a list.
_ONE: Final[dict[str, np.dtype[Any]]] = {
    "float": np.dtype("float64"),
    "int": np.dtype("int64"),
    "bool": np.dtype("int32"),
}
_EACH: Final[dict[str, np.dtype[Any]]] = {**_ONE, "bool": np.dtype("bool")}
_TYPES: Final = {
    "bool": "uint8_t", "float32": "float", "float64": "double", "complex64": "float2", "complex128": "double2",
    "int32": "int",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """The launch that a schema declares.

    `threads` of each block; `elements` that a thread handles; bytes of `shared` memory of a block, one number for each
    dtype of the kernel, or one for all; `grid`: blocks for all `elements` of the result, or one for each of the `rows`
    of the first array, or of that named `rows_of`, which are all dimensions but its last. `shared_limit` is the shared
    memory that the kernel may ask the device for, where that is more than every device grants. `ndim`: how many
    dimensions the first array has, where the kernel handles no others: a kernel cannot refuse what it is launched with.
    `dims` says so by name.
    """

    threads: int = 256
    elements: int = 1
    shared: int | tuple[int, ...] = 0
    grid: str = "elements"
    shared_limit: int = 0
    ndim: int | None = None
    dims: tuple[tuple[str, int], ...] = ()
    rows_of: str = ""

    def blocks(self, count: int, shape: Sequence[int], others: int = 0) -> int:
        """Return how many blocks handle `count` elements of the first result and `others` of further ones, where the
        array whose rows count is of that shape: none where nothing is written, else one at least."""
        if not count and not others:
            return 0
        if self.grid == "rows":
            return max(1, math.prod(shape[:-1]))
        return max(1, -(-count // (self.threads * self.elements)))

    def shared_of(self, position: int) -> int:
        """Return the bytes of shared memory of the function for the dtype at this position."""
        return self.shared if isinstance(self.shared, int) else self.shared[position]


@dataclass(frozen=True, slots=True, eq=False)  # (values are arrays)
class LaunchPlan:
    """One launch: all that the driver is told.

    `types` are those of the values in C: `pointer`, `double`, `int64_t`, `int`, `opwright_sizes`, and what else the
    header has. Values are arrays of the device for pointers, and else NumPy's of exactly that type, which are passed by
    value.
    """

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    types: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be launched."""
        return self.grid[0] == 0

    def problems(self, limits: Limits) -> Iterator[str]:
        """Yield what a device does not do of this launch."""
        if self.block[0] > limits.threads:
            yield f"{self.block[0]} threads a block are more than the {limits.threads} that it runs on this device"
        if self.grid[0] > limits.blocks:
            yield f"{self.grid[0]:,} blocks are more than the {limits.blocks:,} that this device takes"
        if self.shared > limits.shared:
            yield f"{self.shared:,} bytes of shared memory are more than the {limits.shared:,} that a block has"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a function on a device: threads of a block, blocks of a grid, bytes of shared memory."""

    threads: int
    blocks: int
    shared: int


def packed_sizes(sizes: Sequence[int]) -> Any:
    """Return sizes or strides as the struct that travels by value; what is beyond them is 0."""
    made = np.zeros((), _SIZES)
    made["at"][: len(sizes)] = sizes
    return made


def packed_number(value: Any, sort: str, dtype: np.dtype[Any]) -> tuple[str, Any]:
    """Return the type and value of a number by its sort: a double, an int64_t, an int, or for `scalar` the dtype."""
    kind = _ONE.get(sort, dtype)
    name = _TYPES.get(kind.name, f"{kind.name}_t")
    return ("int32_t" if sort == "scalar" and name == "int" else name), np.array(value, kind)[()]


def packed_optional(value: Any, sort: str, dtype: np.dtype[Any]) -> tuple[str, Any]:
    """Return the type and value of a number that may be None: a struct, laid out as CUDA lays it out."""
    name, number = packed_number(0 if value is None else value, sort, dtype)
    wide = max(number.itemsize, 4)
    packed: Any = {
        "names": ["value", "is_there"], "formats": [number.dtype, np.int32], "offsets": [0, wide], "itemsize": 2 * wide,
    }  # fmt: skip
    made: Any = np.zeros((), np.dtype(packed))
    made["value"], made["is_there"] = number, value is not None
    return f"opwright_optional<{name}>", made


def packed_list(values: Any, sort: str) -> Iterator[tuple[str, Any]]:
    """Yield types and values of a list of at most 32 numbers, or of None: a struct, and how many there are."""
    kind = _EACH[sort]
    made = np.zeros((), np.dtype([("at", kind, (MAX_LISTED,)), ("is_there", np.int32)], align=True))
    count = 0 if values is None else len(values)
    if values is not None:
        made["at"][:count], made["is_there"] = values, 1
    yield f"opwright_list<{_TYPES.get(kind.name, f'{kind.name}_t')}>", made
    yield "int64_t", np.int64(count)
