"""`meta=` and `register_meta`: what results look like, by a formula of schema files; `cost=`, by a text of these.

The formula is the operator's fake kernel, and so what `opcheck` holds its real results against. At calls nothing is
checked by it: a rule takes longer than all that a call checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.cost.tables import Said
from opwright.fake.arrays import Place, place_on
from opwright.fake.planned_results import fake, new_fake, place_of
from opwright.inspection import schema as _schema
from opwright.inspection.meta_formulas import MetaFormula, RuleCall
from opwright.pytree import tensors_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.plans.plan import Plan
from opwright_core.tensors.tensor import Tensor

__all__ = ["cost_said", "fake_by", "formula_of"]


def formula_of(operator_name: str, declaration: str, text: object) -> MetaFormula:
    """Return the formula of an operator, its names and calls checked.

    Raises TypeError for what is no text, RegistrationError for a formula that cannot be, with the position in it, and
    for an operator whose results are no new tensors. Must not be called with the registry's lock held: it may import
    the generator.
    """
    if not isinstance(text, str):
        raise TypeError(f"{operator_name}: a meta formula is a text such as 'pointwise(x)', got {text!r}")
    return _schema.meta_formula(operator_name, declaration, text)


def cost_said(operator_name: str, declaration: str, cost: Said, meta: str | None) -> Said:
    """Return what `cost` says of an operator's costs: a text over its arguments, its names checked, or a function.

    `meta` may name dimensions. Raises as `formula_of` does.
    """
    if callable(cost):
        return lambda *args, out_val: cost(*args)
    if not isinstance(cost, str):
        raise TypeError(f"{operator_name}: a cost is a text such as '2 * numel(x)', or a function, got {cost!r}")
    return _schema.cost_formula(operator_name, declaration, cost, meta or "")


def fake_by(operator: Operator, formula: MetaFormula) -> Callable[..., Any]:
    """Return the kernel of Meta that makes results as the formula says."""
    plans = formula.plans
    returns = operator.signature.returns
    device_of = [_device_named(operator, call) for call in formula.calls]

    def call(*args: Any) -> Any:
        tensors = [tensor.array for tensor in tensors_of(args)]
        found = plans(*map(_array, args))
        if not tensors:
            return new_fake(found) if returns == ("Tensor",) else [new_fake(plan) for plan in found]
        place = place_of(*tensors)
        if returns == ("Tensor",):
            return fake(_place(place, found, device_of[0], args), found)
        named = device_of * len(found) if len(device_of) == 1 else device_of
        made = [fake(_place(place, plan, name, args), plan) for plan, name in zip(found, named, strict=True)]
        return made if len(returns) == 1 else tuple(made)

    return call


def _device_named(operator: Operator, call: RuleCall | None) -> int | None:
    """Return the position of the argument that a rule is passed as the device; -1 where that is an expression."""
    value = None if call is None else dict(call.keywords).get("device")
    if value is None:
        return None
    return -1 if value.argument is None else operator.signature.positions[value.argument]


def _place(place: Place, plan: Plan, device: int | None, args: tuple[Any, ...]) -> Place:
    """Return where a result is: with the tensors, or on the device that the formula names."""
    if device is None or (device >= 0 and args[device] is None) or plan.device == place.device:
        return place
    return place_on(plan.device) if place.mode is None else place.mode.place(plan.device)


def _array(value: Any) -> Any:
    """Return the array of a tensor; those of a list of them."""
    if isinstance(value, Tensor):
        return value.array
    return [_array(item) for item in value] if type(value) is list else value
