"""`Plan` as generated shims make it of a cached spec: what the compiled core has instead, if it runs
(`runtime/opwright_core/fast/plan/write_plan.c`), does the same for targets that are as planned."""

from __future__ import annotations

from typing import Any, Final

from opwright_core.core import fast
from opwright_core.plans import plan
from opwright_core.plans.specs import TensorSpec

__all__ = ["Plan"]

if fast is not None:
    fast.configure(Plan=plan.Plan, cast_operands=plan.cast_operands, TensorSpec=TensorSpec)

Plan: Final[Any] = plan.Plan if fast is None else fast.WritingPlan
