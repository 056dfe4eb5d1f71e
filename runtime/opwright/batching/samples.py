"""One sample of a call: rules ask it where a call of all at once would not say what a sample's says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["call_sample", "refuse_as_sample", "sample_of"]


def sample_of(level: Batching, value: Any, number: int) -> Any:
    """Return an argument as one sample has it."""

    def one(tensor: Tensor) -> Any:
        array = tensor.array
        return aten["select.int"](array.value, array.dim, number) if level.is_batched(tensor) else tensor

    return mapped(value, one)


def call_sample(level: Batching, operator: Operator, args: Any) -> Any:
    """Return what the first sample gives, zeros where there is none; what it would write is a copy."""
    given = []
    for position, value in enumerate(args):
        is_none = level.size == 0
        one = mapped(value, lambda each: _zeros(level, each)) if is_none else sample_of(level, value, 0)
        given.append(aten["clone.default"](one) if position in operator.signature.written else one)
    return operator.call(*given)


def _zeros(level: Batching, tensor: Any) -> Any:
    if not level.is_batched(tensor):
        return tensor
    array = tensor.array
    return aten["new_zeros.default"](array.value, list(array.shape))


def refuse_as_sample(level: Batching, operator: Operator, args: Any) -> None:
    """Raise what a sample raises. Raises RuntimeError where it raises nothing."""
    call_sample(level, operator, args)
    raise RuntimeError(f"vmap: {operator.name}: the call of all samples at once is not possible with these arguments")
