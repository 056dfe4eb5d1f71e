"""Derivatives from central differences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opwright.autograd.checking.problem import Input, Numbers, Problem, Table, check_same_shapes, is_complex, moved
from opwright_core.tensors.tensor import Tensor

__all__ = ["along", "directions", "empty_table", "jacobian", "put"]


def jacobian(problem: Problem, given: Input, eps: float) -> list[Table]:
    """Return the Jacobian of each output with respect to one input, element by element."""
    tables: list[Table] = []
    for index, step, direction in directions(given.tensor):
        derivatives = along(problem, given, step, eps)
        tables = tables or [empty_table(given.tensor, each) for each in derivatives]
        for table, derivative in zip(tables, derivatives, strict=True):
            put(table, index, direction, derivative)
    return tables or [empty_table(given.tensor, each) for each in problem.values()]


def along(problem: Problem, given: Input, direction: Numbers, eps: float) -> list[Numbers]:
    """Return the derivative of each output when the input moves along `direction`."""
    with moved(given.tensor, eps * direction):
        ahead = problem.values()
    with moved(given.tensor, -eps * direction):
        behind = problem.values()
    check_same_shapes(problem, behind, ahead)
    return [(one - other) / (2 * eps) for one, other in zip(ahead, behind, strict=True)]


def directions(tensor: Tensor) -> Iterator[tuple[int, Numbers, complex]]:
    """Yield each element's own direction, for a complex one also the imaginary one, with its number and 1 or 1j."""
    for index in range(tensor.numel()):
        for direction in (1, 1j) if is_complex(tensor) else (1,):
            step = np.zeros(tensor.shape, np.complex128 if is_complex(tensor) else np.float64)
            step.reshape(-1)[index] = direction
            yield index, step, direction


def empty_table(given: Tensor, output: Numbers) -> Table:
    """Return a Jacobian to be filled."""
    parts = 2 if np.iscomplexobj(output) else 1
    return np.zeros((given.numel(), output.size, parts), np.complex128 if is_complex(given) else np.float64)


def put(table: Table, index: int, direction: complex, derivative: Numbers) -> None:
    """Add what moving the input's element `index` along `direction` did to the output."""
    flat = derivative.reshape(-1)
    for part in range(table.shape[2]):
        value = flat.imag if part else flat.real
        table[index, :, part] += value * direction if direction != 1 else value
