"""Tensors of every dtype and layout, with values that most operators take."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from opwright.construction import from_numpy
from opwright.dtypes import COMPLEX, FLOATING, DType, bool_
from opwright.tensor import Tensor

__all__ = ["SITUATIONS", "make_tensor"]

SITUATIONS: Final = ("contiguous", "transposed", "sliced", "expanded", "broadcast", "0-dim", "empty", "size 1")


def make_tensor(shape: tuple[int, ...], dtype: DType, layout: str, random: Random, *, high: int = 4) -> Tensor:
    """A tensor of this shape over memory of its own: `transposed` (dimensions stored in reverse), `sliced` (with gaps,
    and an offset), `expanded` (a dimension repeated by a stride of 0); any other word means row-major.

    Integers are below `high` and not negative, so that they serve as positions; other numbers lie between -3 and 3.
    """
    match layout:
        case "transposed":
            return from_numpy(_values(shape[::-1], dtype, random, high)).permute(list(range(len(shape)))[::-1])
        case "sliced" if shape:
            sliced: Tensor = from_numpy(_values((*shape[:-1], 2 * shape[-1] + 1), dtype, random, high))[..., 1::2]
            return sliced
        case "expanded" if shape:
            repeated = random.randrange(len(shape))
            small = tuple(1 if dim == repeated else size for dim, size in enumerate(shape))
            return from_numpy(_values(small, dtype, random, high)).expand(list(shape))
        case _:
            return from_numpy(_values(shape, dtype, random, high))


def _values(shape: tuple[int, ...], dtype: DType, random: Random, high: int) -> np.ndarray[Any, Any]:
    numbers = np.random.default_rng(random.getrandbits(32))
    if dtype is bool_:
        return np.asarray(numbers.integers(0, 2, shape)).astype(bool)
    if dtype in FLOATING:
        return np.asarray(numbers.uniform(-3, 3, shape)).astype(dtype)
    if dtype in COMPLEX:
        return np.asarray(numbers.uniform(-3, 3, shape) + 1j * numbers.uniform(-3, 3, shape)).astype(dtype)
    return np.asarray(numbers.integers(0, high, shape)).astype(dtype)
