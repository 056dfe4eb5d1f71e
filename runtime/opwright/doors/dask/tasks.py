"""Tasks of a graph: calls of operators on blocks. Dask sends them to other processes, so all are data."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opwright.arrays.devices import is_array
from opwright.dispatch.operator import find_operator
from opwright.tensors.tensor import Tensor, wrap

__all__ = ["Backward", "Call", "Item", "Part"]


@dataclass(frozen=True)
class Call:
    """A call of an operator of a package: its arguments, of which those at `places` are blocks."""

    package: str
    operator: str
    values: tuple[Any, ...]
    places: tuple[int, ...]

    def __call__(self, *blocks: Any) -> Any:
        """Return the results for these blocks, as arrays."""
        result = self.call([_tensor(block) for block in blocks])
        return tuple([each.array for each in result]) if isinstance(result, tuple) else result.array

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """Return the results for these tensors."""
        importlib.import_module(self.package)  # in a process that has not had it yet
        values = list(self.values)
        for place, tensor in zip(self.places, tensors, strict=True):
            values[place] = tensor
        return find_operator(self.operator).call(*values)


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
    """The gradients of a call: `count` blocks are gradients of its results, and those of `wanted` are asked for."""

    forward: Call
    count: int
    wanted: tuple[int, ...]

    def __call__(self, *blocks: Any) -> tuple[Any, ...]:
        """Return an array for each that is asked for."""
        from opwright.autograd import grad

        tensors = [_tensor(block).detach() for block in blocks[self.count :]]
        inputs = [tensors[self.forward.places.index(place)].requires_grad_() for place in self.wanted]
        result = self.forward.call(tensors)
        results = result if isinstance(result, tuple) else (result,)
        given = [_tensor(block) for block in blocks[: self.count]]
        pairs = [(one, other) for one, other in zip(results, given, strict=True) if one.requires_grad]
        if not pairs:
            return tuple([np.zeros(each.shape, each.array.dtype) for each in inputs])
        found = grad([one for one, _ in pairs], inputs, [other for _, other in pairs], allow_unused=True)
        return tuple(
            [
                np.zeros(each.shape, each.array.dtype) if made is None else made.array
                for each, made in zip(inputs, found, strict=True)
            ]
        )


def _tensor(block: Any) -> Tensor:
    return wrap(block if is_array(block) else np.asarray(block))
