"""Tasks of a graph: calls of operators on blocks. Dask sends them to other processes, so all are data."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opwright_core.arrays.devices import is_array
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["Added", "Backward", "Call", "Item", "Part", "Running"]


@dataclass(frozen=True)
class Call:
    """A call of an operator of a package: its arguments, of which those at `positions` are blocks.

    What windows spoil is cut off: along each of `dims` its results have a block more, where they begin and end.
    """

    package: str
    operator: str
    values: tuple[Any, ...]
    positions: tuple[int, ...]
    dims: tuple[int, ...] = ()

    def __call__(self, *blocks: Any) -> Any:
        """Return the results for these blocks, as arrays."""
        count = len(self.positions)
        result = self.call([_tensor(block) for block in blocks[:count]])
        kept = self.kept(blocks[count:])
        return tuple([each.array[kept] for each in result]) if isinstance(result, tuple) else result.array[kept]

    def kept(self, ends: Sequence[Any]) -> tuple[Any, ...]:
        """Return the index of what of a result is kept."""
        found: list[Any] = []
        for dim, (first, last) in zip(self.dims, ends, strict=True):
            found += [slice(None)] * (dim + 1 - len(found))
            found[dim] = slice(int(first), int(last))
        return tuple(found) or (...,)

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """Return the results for these tensors."""
        importlib.import_module(self.package)  # in a process that has not had it yet
        values = list(self.values)
        for position, tensor in zip(self.positions, tensors, strict=True):
            values[position] = tensor
        return find_operator(self.operator).call(*values)


@dataclass(frozen=True)
class Added:
    """A product of parts of the dimensions that are summed over, which stand before its own, of size 1."""

    whole: Call
    count: int

    def __call__(self, *blocks: Any) -> Any:
        """Return the product."""
        return np.expand_dims(self.whole(*blocks), tuple(range(self.count)))


@dataclass(frozen=True)
class Running:
    """A running reduction of a part of an array along `axis`, which goes on from the last element before the part."""

    whole: Call
    axis: int

    def __call__(self, block: Any, last: Any) -> Any:
        """Return the running reduction of the part."""
        together = np.concatenate([last, block.astype(last.dtype)], self.axis)
        found = self.whole(together)
        return found[(slice(None),) * self.axis + (slice(1, None),)]


@dataclass(frozen=True)
class Item:
    """One of several results."""

    place: int

    def __call__(self, results: Sequence[Any]) -> Any:
        """Return it."""
        return results[self.place]


@dataclass(frozen=True)
class Part:
    """A reduction of a part of an array, and of the results of parts, over `axis`, whose dimensions are kept.

    `keepdim` is the position of the argument that keeps them; None where the operator has none.
    """

    whole: Call
    axis: tuple[int, ...]
    keepdim: int | None

    def __call__(self, block: Any) -> Any:
        """Return the reduction."""
        if self.keepdim is None:
            return np.expand_dims(self.whole(block), self.axis)
        values = list(self.whole.values)
        values[self.keepdim] = True
        return replace(self.whole, values=tuple(values))(block)


@dataclass(frozen=True)
class Backward:
    """The gradients of a call: `count` blocks are gradients of its results, and those of `wanted` are asked for.

    Each gradient has `extra` dimensions of size 1 before its own, for the blocks that it is to be summed over.
    """

    forward: Call
    count: int
    wanted: tuple[int, ...]
    extra: tuple[int, ...]

    def __call__(self, *blocks: Any) -> tuple[Any, ...]:
        """Return an array for each that is asked for."""
        from opwright.autograd import grad

        end = self.count + len(self.forward.positions)
        tensors = [_tensor(block).detach() for block in blocks[self.count : end]]
        inputs = [tensors[self.forward.positions.index(position)].requires_grad_() for position in self.wanted]
        result = self.forward.call(tensors)
        results = result if isinstance(result, tuple) else (result,)
        kept = self.forward.kept(blocks[end:])
        given = [_spread(block, one, kept) for block, one in zip(blocks[: self.count], results, strict=True)]
        pairs = [(one, other) for one, other in zip(results, given, strict=True) if one.requires_grad]
        found: Sequence[Any] = [None] * len(inputs)
        if pairs:
            found = grad([one for one, _ in pairs], inputs, [other for _, other in pairs], allow_unused=True)
        arrays = [
            np.zeros(each.shape, each.array.dtype) if made is None else made.array
            for each, made in zip(inputs, found, strict=True)
        ]
        return tuple([array[(None,) * extra] for array, extra in zip(arrays, self.extra, strict=True)])


def _spread(block: Any, result: Tensor, kept: tuple[Any, ...]) -> Tensor:
    """Return the gradient of a whole result, 0 for what of it is not kept."""
    if kept == (...,):
        return _tensor(block)
    array = np.zeros(result.shape, block.dtype)
    array[kept] = block
    return wrap(array)


def _tensor(block: Any) -> Tensor:
    return wrap(block if is_array(block) else np.asarray(block))
