"""Launches of CUDA kernels as data: how many blocks of how many threads run which function, with which values."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["MAX_DIMS", "LaunchPlan", "LaunchRule", "Limits", "packed_number", "packed_sizes"]

MAX_DIMS: Final = 16  # of the struct by which shapes and strides travel, `opwright_sizes` in the generated source
_SIZES: Final = np.dtype([("at", np.int64, (MAX_DIMS,))])
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """The launch that a schema declares.

    `threads` of each block; `elements` that a thread serves; bytes of `shared` memory of a block, one number for each
    dtype of the kernel, or one for all; `grid`: blocks for all `elements` of the result, or one for each of the `rows`
    of the first array, which are all dimensions but its last. `shared_limit` is the shared memory that the kernel may
    ask the device for, where that is more than every device grants. `ndim`: how many dimensions the first array has,
    where the kernel serves no others: a kernel cannot refuse what it is launched with.
    """

    threads: int = 256
    elements: int = 1
    shared: int | tuple[int, ...] = 0
    grid: str = "elements"
    shared_limit: int = 0
    ndim: int | None = None

    def blocks(self, count: int, first_shape: Sequence[int]) -> int:
        """Return how many blocks serve `count` elements; none are launched for none."""
        if self.grid == "rows":
            return math.prod(first_shape[:-1]) if count else 0
        return -(-count // (self.threads * self.elements))

    def shared_of(self, place: int) -> int:
        """Return the bytes of shared memory of the function for the dtype at this place."""
        return self.shared if isinstance(self.shared, int) else self.shared[place]


@dataclass(frozen=True, slots=True, eq=False)  # (values are arrays)
class LaunchPlan:
    """One launch: all that the driver is told.

    `types` are those of the values in C: `pointer`, `double`, `int64_t`, `int` and `opwright_sizes`. Values are arrays
    of the device for pointers, and else NumPy's of exactly that type, which are passed by value.
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


def packed_number(value: Any, sort: str, where: str) -> Any:
    """Return a number as the kernel takes it: a double, an int64_t or an int. Raises OverflowError."""
    if sort == "bool":
        return np.int32(bool(value))
    if sort == "int":
        number = operator.index(value)
        if -_LARGEST <= number < _LARGEST:
            return np.int64(number)
        raise OverflowError(f"{where} is {number}, which 64 bits do not hold")
    try:
        return np.float64(float(value))
    except OverflowError:
        raise OverflowError(f"{where} is larger than any float") from None


def packed_sizes(sizes: Sequence[int]) -> Any:
    """Return sizes or strides as the struct that travels by value; what is beyond them is 0."""
    made = np.zeros((), _SIZES)
    made["at"][: len(sizes)] = sizes
    return made
