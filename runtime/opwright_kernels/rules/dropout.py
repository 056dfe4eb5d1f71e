"""Results of dropout: the elements, and which of them were kept."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays.dtypes import as_dtype, bool_
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.rules.factories import like


def native_dropout(input: Any, p: float, train: bool | None) -> Plan:
    """Plan a result like `input`. Raises RuntimeError for no probability, and for integers, which cannot be scaled;
    unless nothing is dropped."""
    if train is None or train:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
        try:
            check_accepted("floating complex", as_dtype(input.dtype))
        except RuntimeError:
            raise RuntimeError(f"dropout scales what it keeps, which {input.dtype} cannot hold") from None
    return like(input)


def dropout_mask(input: Any) -> Plan:
    """Plan a bool for each element."""
    return like(input, dtype=bool_)
