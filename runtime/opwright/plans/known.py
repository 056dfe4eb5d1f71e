"""Forms that shims keep, by what their rule reads: Note [Known plans] in the generator's `targets/known.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.plans.forms import Forms
from opwright.plans.plan import Plan

__all__ = ["KnownForms"]


class KnownForms(Forms):
    """The forms of an operator's results by a key: one, or several in a tuple. Bounded, and emptied when the default
    dtype changes."""

    __slots__ = ()

    def learn(self, key: Any, plan: Plan | Sequence[Plan], *operands: Any) -> Any:
        """Remember what the plans of a call say, and return it. `operands` are those that the call has.

        Raises RuntimeError where the rule plans for others: what it made of them nobody would give to the kernel.
        """
        plans = (plan,) if isinstance(plan, Plan) else tuple(plan)
        if not _are_as_given(plans[0], operands):
            raise RuntimeError("a rule whose plans are kept must take the operands as they are")
        return self.keep(key, plans[0].form if isinstance(plan, Plan) else tuple(each.form for each in plans))

    def learn_plan(self, key: Any, plan: Plan, *operands: Any) -> None:
        """Remember what the plan of a call that writes says, unless it says more than its form."""
        if type(plan) is Plan and not plan.has_own_device and _are_as_given(plan, operands):
            self.keep(key, plan.form)


def _are_as_given(plan: Plan, operands: Sequence[Any]) -> bool:
    given = plan.given
    return len(given) == len(operands) and all(one is other for one, other in zip(given, operands, strict=True))
