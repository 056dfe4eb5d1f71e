"""A backend: tensors over Python lists, on device "lists". Nothing of NumPy is in its kernels."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import opwright


class Lists:
    """A dense float32 array in row-major order."""

    dtype = "float32"

    def __init__(self, shape: tuple[int, ...], values: list[float]) -> None:
        self.shape = shape
        self.values = values


def from_numpy(array: np.ndarray[Any, Any]) -> Lists:
    """For `opwright.tensor(..., device="lists")` and `.to("lists")`."""
    return Lists(array.shape, array.reshape(-1).tolist())


def to_numpy(lists: Lists) -> np.ndarray[Any, Any]:
    """For `.cpu()`, `.item()` and printing."""
    return np.array(lists.values, np.float32).reshape(lists.shape)


def _broadcast(first: Lists, second: Lists) -> tuple[tuple[int, ...], list[float], list[float]]:
    """The common shape, and both arrays' values in it."""
    a, b = np.broadcast_arrays(to_numpy(first), to_numpy(second))
    return a.shape, a.reshape(-1).tolist(), b.reshape(-1).tolist()


def pointwise(function: Callable[[float, float], float]) -> Callable[[Lists, Lists], Lists]:
    """A kernel that applies a function of two numbers."""

    def kernel(self: Lists, other: Lists) -> Lists:
        shape, a, b = _broadcast(self, other)
        return Lists(shape, list(map(function, a, b)))

    return kernel


def add(self: Lists, other: Lists, alpha: float) -> Lists:
    """Every argument of the declaration comes by position, tensors as arrays."""
    shape, a, b = _broadcast(self, other)
    return Lists(shape, [x + alpha * y for x, y in zip(a, b, strict=True)])


def add_number(self: Lists, other: float, alpha: float) -> Lists:
    """The overload of `add` for numbers."""
    return Lists(self.shape, [value + alpha * other for value in self.values])


def mm(self: Lists, other: Lists) -> Lists:
    """The product of two matrices."""
    (rows, inner), columns = self.shape, other.shape[1]
    cells = ((row, column) for row in range(rows) for column in range(columns))
    values = [sum(self.values[i * inner + k] * other.values[k * columns + j] for k in range(inner)) for i, j in cells]
    return Lists((rows, columns), values)


def empty(size: list[int], *options: Any) -> Lists:
    """Serves `empty`, and with those that fill it all factories that are written over it."""
    return Lists(tuple(size), [0.0] * math.prod(size))


def clone(self: Lists, memory_format: Any) -> Lists:
    """A copy; gradients are kept in one."""
    return Lists(self.shape, self.values.copy())


def fill_(self: Lists, value: float) -> Lists:
    """A kernel that writes returns the array it was given."""
    self.values[:] = [float(value)] * len(self.values)
    return self


def zero_(self: Lists) -> Lists:
    """The same of zeros."""
    return fill_(self, 0.0)


KERNELS: dict[str, Callable[..., Lists]] = {
    "aten::add.Tensor": add,
    "aten::add.Scalar": add_number,
    "aten::mul.Tensor": pointwise(operator.mul),
    "aten::maximum": pointwise(max),
    "aten::mm": mm,
    "aten::clone": clone,
    "aten::empty.memory_format": empty,
    "aten::fill_.Scalar": fill_,
    "aten::zero_": zero_,
}


def register() -> None:
    """The entry point: one call makes the backend, and each kernel is a function on its arrays."""
    backend = opwright.register_backend("lists", array_type=Lists, from_numpy=from_numpy, to_numpy=to_numpy)
    for name, kernel in KERNELS.items():
        backend.impl(name, kernel)
