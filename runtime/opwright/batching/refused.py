"""Operators that have no rule by their nature: their results would differ from sample to sample, or be no tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.batching.tables import BatchRule

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["refusal", "refusal_of_out"]


def refusal(operator: Operator) -> BatchRule | None:
    """Return the rule that raises RuntimeError, for operators whose results depend on data in ways that samples cannot
    share; None for all others."""
    if "dynamic_output_shape" in operator.tags:
        return _raising(
            operator,
            "We do not support batching operators that can output dynamic shape: what samples give differs in shape. "
            "Call it before or after vmap, or write what you do with it by where and masks",
        )
    if "data_dependent_output" in operator.tags:
        return _raising(
            operator,
            "It looks like you're attempting to use a Tensor in some data-dependent control flow: the answer is a "
            "number or a bool for each sample. Compute both ways, and choose with opwright.where",
        )
    return None


def refusal_of_out(operator: Operator) -> BatchRule | None:
    """Return the rule that raises RuntimeError, for out variants; None for all others."""
    signature = operator.signature
    if not signature.written or max(signature.written) < signature.positional:
        return None
    return _raising(
        operator,
        "there is no batching rule for out= variants: the tensor that is written need not be batched. Use the operator "
        "that returns its result",
    )


def _raising(operator: Operator, why: str) -> BatchRule:
    def rule(level: Batching, *args: Any) -> Any:
        raise RuntimeError(f"vmap: {operator.name}: {why}")

    return rule
