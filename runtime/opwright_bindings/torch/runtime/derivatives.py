"""Gradients, tangents and looks of results of PyTorch's operators, on Tensors of ours, to be compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from opwright_bindings.torch.runtime.calls import theirs_of
from opwright_bindings.torch.runtime.values import our_dtype, our_tensor
from opwright_core.tensors.tensor import Tensor

__all__ = ["TorchDerivatives", "TorchLooks", "whole_lists"]

Given = dict[int, Tensor]  # by the number of a result, or by the position of an argument


class TorchDerivatives:
    """Derivatives of one operator, which is called with all arguments in order."""

    def __init__(self, overload: torch._ops.OpOverload) -> None:
        self._overload = overload
        self._names = [each.name for each in overload._schema.arguments if each.kwarg_only]

    def gradients(self, values: Sequence[Any], places: Sequence[int], weights: Given) -> list[Any]:
        """Return the gradients of arguments for those of some results; None for one that results do not depend on.

        Raises what PyTorch raises.
        """
        given = [theirs_of(each) for each in values]
        leaves = {place: given[place].clone().requires_grad_() for place in places}
        with torch.enable_grad():
            given = [leaves[place].clone() if place in leaves else each for place, each in enumerate(given)]
            results = self._called(given)
            pairs = [(results[number], theirs_of(each)) for number, each in weights.items()]
            pairs = [(result, each) for result, each in pairs if result.requires_grad]
            if not pairs:
                return [None] * len(places)
            outputs, incoming = zip(*pairs, strict=True)
            found = torch.autograd.grad(outputs, list(leaves.values()), incoming, allow_unused=True)
        return [None if each is None else _array(each) for each in found]

    def tangents(self, values: Sequence[Any], directions: Given) -> list[Any]:
        """Return the tangents of results along directions of arguments; None for those that have none.

        Raises what PyTorch raises.
        """
        given = [theirs_of(each) for each in values]
        with forward_ad.dual_level():
            for place, along in directions.items():
                given[place] = forward_ad.make_dual(given[place].clone(), theirs_of(along))
            found = [forward_ad.unpack_dual(each).tangent for each in self._called(given)]
        return [None if each is None else _array(each) for each in found]

    def _called(self, given: Sequence[Any]) -> list[torch.Tensor]:
        count = len(given) - len(self._names)
        return _tensors_in(self._overload(*given[:count], **dict(zip(self._names, given[count:], strict=True))))


def _tensors_in(found: Any) -> list[torch.Tensor]:
    """Return the tensors of a result, in lists too."""
    if isinstance(found, torch.Tensor):
        return [found]
    return [each for item in found for each in _tensors_in(item)] if isinstance(found, list | tuple) else []


def whole_lists(types: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Return arguments with as many numbers as `int[2]` has, where one stands for all."""
    counts = [re.search(r"int\[(\d)\]", text, re.IGNORECASE) for text in types]
    return [
        value * int(count[1]) if count is not None and isinstance(value, list) and len(value) == 1 else value
        for count, value in zip(counts, values, strict=True)
    ]


class TorchLooks:
    """Shape, strides and dtype of the results of one operator, on Tensors of ours."""

    def __init__(self, overload: torch._ops.OpOverload, types: Sequence[str]) -> None:
        self._overload = overload
        self._types = types
        self._positional = sum(not each.kwarg_only for each in overload._schema.arguments)

    def __call__(self, *values: Any) -> list[tuple[Any, ...]]:
        """Return what PyTorch's results look like. Raises what it raises."""
        given = [theirs_of(each) for each in whole_lists(self._types, values)]
        names = [each.name for each in self._overload._schema.arguments[self._positional :]]
        with torch.no_grad():
            keywords = dict(zip(names, given[self._positional :], strict=True))
            found = self._overload(*given[: self._positional], **keywords)
        return [(tuple(each.shape), tuple(each.stride()), our_dtype(each.dtype)) for each in _tensors_in(found)]


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    return np.array(our_tensor(tensor.detach().resolve_conj().resolve_neg()).numpy(force=True))
