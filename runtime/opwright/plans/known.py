"""Forms that fast shims keep, by what their rule reads: Note [Known plans] in the generator's `targets/known.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.plans.forms import Forms
from opwright.plans.plan import Plan

__all__ = ["KnownForms"]


class KnownForms(Forms):
    """The forms of an operator's results by a key: one, or several in a tuple; `()` where the general shim has to
    cast operands. Bounded, and emptied when the default dtype changes."""

    __slots__ = ()

    def learn(self, key: Any, plan: Plan | Sequence[Plan], *operands: Any) -> Any:
        """Remember what the plans of a call say, and return it. `operands` are the arrays that the call has."""
        plans = (plan,) if isinstance(plan, Plan) else tuple(plan)
        given = plans[0].given
        as_given = len(given) == len(operands) and all(one is other for one, other in zip(given, operands, strict=True))
        if not as_given or any(each.form.casts for each in plans):
            return self.keep(key, ())
        return self.keep(key, plans[0].form if isinstance(plan, Plan) else tuple(each.form for each in plans))
