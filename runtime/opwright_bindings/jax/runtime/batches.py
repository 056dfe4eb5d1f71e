"""Arrays of elementwise calls that stand for batches: dimensions of batches first, and back to where JAX has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from opwright_bindings.jax.runtime.programs import Batch

__all__ = ["aligned", "restored", "split"]


def split(program: Any) -> tuple[list[Batch], Any]:
    """Return the batches that a program is of, the outermost first, and what they are batches of."""
    levels = []
    while isinstance(program, Batch):
        levels.append(program)
        program = program.base
    return levels, program


def aligned(operand: Any, dims: Sequence[int | None], rank: int) -> Any:
    """Return an operand with its batches first, and sizes of 1 before those of a sample, so that samples broadcast as
    they would alone. `dims` are the dimensions of batches, the outermost first; `rank` is that of a sample's result."""
    sizes: list[int] = []
    there = 0
    for dim in dims:
        sizes.append(1 if dim is None else operand.shape[there + dim])
        if dim is not None:
            operand = jax.numpy.moveaxis(operand, there + dim, there)
            there += 1
    own = operand.shape[there:]
    return operand.reshape(*sizes, *[1] * (rank - len(own)), *own) if there else operand


def restored(found: Any, before: int, dims: Sequence[int | None], shape: Sequence[int]) -> Any:
    """Return the gradient of an operand of that shape, of one by each element of the result: the sum where the operand
    is repeated. The first `before` dimensions are batches of the gradient itself; `dims` are those of the operand in
    the batches behind them, None where it has none."""
    kept = [dim for dim in dims if dim is not None]
    own = list(shape[before:])
    for dim in kept:
        del own[dim]
    first = before + len(dims)
    missing = found.ndim - first - len(own)
    summed = [before + level for level, dim in enumerate(dims) if dim is None]
    summed += [first + axis for axis in range(missing)]
    for axis, size in enumerate(own, first + missing):
        summed += [axis] if size == 1 != found.shape[axis] else []
    sizes = [*found.shape[:before], *[found.shape[before + n] for n, dim in enumerate(dims) if dim is not None]]
    found = (found.sum(summed) if summed else found).reshape(*sizes, *own)
    for level, dim in reversed(list(enumerate(kept, before))):
        found = jax.numpy.moveaxis(found, level, level + dim)
    return found
