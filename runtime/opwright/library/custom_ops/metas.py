"""`meta=` and `register_meta`: what results look like, by a formula of schema files.

The formula is the operator's fake kernel, and so what `opcheck` holds its real results against. At calls nothing is
checked by it: a rule takes longer than all that a call checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.dispatch import schema as _schema
from opwright.dispatch.meta_formulas import MetaFormula
from opwright.dispatch.operator import Operator
from opwright.fake.results import fake, new_fake, place_of
from opwright.tensors.results import tensors_of
from opwright.tensors.tensor import Tensor

__all__ = ["fake_by", "formula_of"]


def formula_of(operator_name: str, declaration: str, text: object) -> MetaFormula:
    """Return the formula of an operator, its names and calls checked.

    Raises TypeError for what is no text, RegistrationError for a formula that cannot be, with the place in it, and for
    an operator whose results are no new tensors. Must not be called with the registry's lock held: it may import the
    generator.
    """
    if not isinstance(text, str):
        raise TypeError(f"{operator_name}: a meta formula is a text such as 'pointwise(x)', got {text!r}")
    return _schema.meta_formula(operator_name, declaration, text)


def fake_by(operator: Operator, formula: MetaFormula) -> Callable[..., Any]:
    """Return the kernel of Meta that makes results as the formula says."""
    plans = formula.plans
    returns = operator.signature.returns

    def call(*args: Any) -> Any:
        tensors = [tensor.array for tensor in tensors_of(args)]
        found = plans(*map(_array, args))
        if not tensors:
            return new_fake(found) if returns == ("Tensor",) else [new_fake(plan) for plan in found]
        place = place_of(*tensors)
        if returns == ("Tensor",):
            return fake(place, found)
        made = [fake(place, plan) for plan in found]
        return made if len(returns) == 1 else tuple(made)

    return call


def _array(value: Any) -> Any:
    """Return the array of a tensor; those of a list of them."""
    if isinstance(value, Tensor):
        return value.array
    return [_array(item) for item in value] if type(value) is list else value
