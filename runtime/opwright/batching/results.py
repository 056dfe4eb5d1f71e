"""Results of rules: one tensor, several with names, or lists of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["as_results", "batched_results"]


def as_results(operator: Operator, value: Any, function: Callable[[Any], Any]) -> Any:
    """Return the results of an operator's call with the function's results instead of the tensors."""
    if isinstance(value, Tensor):
        return function(value)
    if type(value) is list:
        return [as_results(operator, each, function) for each in value]
    if isinstance(value, tuple):
        made = tuple([as_results(operator, each, function) for each in value])
        return operator.result(*made) if operator.result is not None else made
    return value


def batched_results(level: Batching, operator: Operator, value: Any) -> Any:
    """Return results whose first dimension is the batch as tensors of the level."""
    return (
        level.put(value, 0) if type(value) is Tensor else as_results(operator, value, lambda each: level.put(each, 0))
    )
