"""Tensors of every dtype and layout, with values that most operators take; copies that lie in memory as they do."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from opwright.autograd import enable_grad, no_grad
from opwright.creation.construction import from_numpy
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, bool_
from opwright_core.keys import DENSE_CPU, GRAD
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["MIXED", "SITUATIONS", "Copies", "make_tensor"]

MIXED: Final = "mixed dtypes"
SITUATIONS: Final = (
    "contiguous", "transposed", "sliced", "expanded", "broadcast", "0-dim", "empty", "size 1", MIXED,
)  # fmt: skip


def make_tensor(shape: tuple[int, ...], dtype: DType, layout: str, random: Random, *, high: int = 4) -> Tensor:
    """Return a tensor of this shape over memory of its own: `transposed` (dimensions stored in reverse), `sliced` (with
    gaps, and an offset), `expanded` (a dimension repeated by a stride of 0); any other word means row-major.

    Integers are below `high` and not negative, so that they can be positions; other numbers lie between -3 and 3.
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


class Copies:
    """Copies of the tensors of one call, in memory of their own, where they lie as the tensors do in theirs: strides,
    gaps, repetitions, offset, and what they share.

    Copies require grad where the tensors do, if they may: as leaves, or as results of leaves where the tensors are.
    """

    def __init__(self, *, may_require_grad: bool = True) -> None:
        self._may_require_grad = may_require_grad
        self._made: dict[int, Tensor] = {}
        self._bases: dict[int, Tensor] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the copy of a tensor, the same one each time."""
        made = self._made.get(id(tensor))
        if made is None:
            made = self._copy(tensor)
            if self._may_require_grad and tensor.requires_grad:
                made.requires_grad_()
                if not tensor.is_leaf:
                    with enable_grad():
                        made = made.clone()
            self._made[id(tensor)] = made
        return made

    def _copy(self, tensor: Tensor) -> Tensor:
        base = tensor._base
        if base is None:
            return self._copied_base(tensor)
        copied = self._copied_base(base)
        offset = tensor.storage_offset() - base.storage_offset()
        typed = copied if copied.dtype == tensor.dtype else copied.view(tensor.dtype)
        return typed.as_strided(list(tensor.shape), list(tensor.stride()), offset)

    def _copied_base(self, tensor: Tensor) -> Tensor:
        """Return the copy of a tensor that is no view, the same one for all views of it."""
        made = self._bases.get(id(tensor))
        if made is None:
            if tensor.keys & ~GRAD == DENSE_CPU:  # without gaps
                with no_grad():
                    made = tensor.clone()
            else:
                flat = tensor.detach().as_strided([tensor.untyped_storage().flat().shape[0]], [1], 0).clone()
                lying = flat.as_strided(list(tensor.shape), list(tensor.stride()), tensor.storage_offset())
                made = wrap(lying.array)
            self._bases[id(tensor)] = made
        return made
