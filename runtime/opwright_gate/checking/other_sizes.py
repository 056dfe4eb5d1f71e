"""The call of a sample with other sizes: there shows what a formula or a fake kernel takes for granted of these."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from opwright.autograd import enable_grad, no_grad
from opwright.creation.construction import from_numpy
from opwright.metadata.view_layouts import share_memory
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call

__all__ = ["with_other_sizes"]


def with_other_sizes(call: Call) -> Iterator[Call]:
    """Yield the call with each distinct size twice as large, or where the operator does not take that, with one of
    them. Sizes among numbers follow, where the operator takes that alone. Values are repeated: positions stay valid."""
    if not call.operands or _share_memory(call):
        return
    sizes = sorted({size for each in call.operands for size in each.tensor.shape if size > 1})
    for changed in (sizes, *([size] for size in sizes if len(sizes) > 1)):
        found = next(filter(_is_taken, _resized(call, {size: 2 * size for size in changed})), None)
        if found is not None:
            yield found
            if changed is sizes:
                return


def _resized(call: Call, sizes: dict[int, int]) -> Iterator[Call]:
    """Yield the call with these sizes instead of others: of Tensors alone, and of numbers too."""
    if not sizes:
        return
    tensors = call.converted(_Resize(sizes))
    yield tensors
    numbers = [
        _with_sizes(value, sizes) if "nt" in text.rstrip("?") and "[" in text else value
        for value, text in zip(tensors.arguments, call.operator.signature.types, strict=True)
    ]
    if numbers != tensors.arguments:
        yield Call(call.operator, numbers)


def _with_sizes(value: Any, sizes: dict[int, int]) -> Any:
    return [sizes.get(item, item) for item in value] if isinstance(value, list) else value


class _Resize:
    """A map from Tensors to ones of other sizes, dimensions in the same order in memory; from one Tensor to one."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self._sizes = sizes
        self._made: dict[int, Tensor] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the Tensor with the sizes."""
        made = self._made.get(id(tensor))
        if made is None:
            order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride()[dim])
            shape = [self._sizes.get(tensor.shape[dim], tensor.shape[dim]) for dim in order]
            values = tensor.numpy(force=True).transpose(order) if order else tensor.numpy(force=True)
            resized = np.resize(values, shape).astype(values.dtype)
            made = from_numpy(resized.transpose(np.argsort(order)) if order else resized)
            if tensor.requires_grad:
                made.requires_grad_()
                if not tensor.is_leaf:
                    with enable_grad():
                        made = made.clone()
            self._made[id(tensor)] = made
        return made


def _is_taken(call: Call) -> bool:
    with no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.copied()()
        except Exception:
            return False
    return True


def _share_memory(call: Call) -> bool:
    tensors = [each.tensor for each in call.operands]
    return any(
        share_memory(one, other)
        for position, one in enumerate(tensors)
        for other in tensors[:position]
        if one is not other
    )
