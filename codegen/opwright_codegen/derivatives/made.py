"""Derivatives that no entry declares: those of expressions, made term by term."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opwright_codegen.derivatives.derivative import DEFAULT_KEY, Derivative, Differentiability
from opwright_codegen.derivatives.formulas import Formulas
from opwright_codegen.errors import SchemaError
from opwright_codegen.expressions.derivative import derivatives_of
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.source import Source, Text

__all__ = ["made_derivatives"]


def made_derivatives(
    operators: OperatorSet, formulas: Formulas, declared: Collection[str]
) -> dict[str, dict[str, Differentiability]]:
    """Return the derivatives of expressions whose operators have none declared, by operator and key."""
    found = {}
    for operator in operators.operators.values():
        if operator.expression is not None and not operator.generated and operator.name not in declared:
            made = _made(operator, formulas)
            if made is not None:
                found[operator.name] = {DEFAULT_KEY: made}
    return found


def _made(operator: Operator, formulas: Formulas) -> Differentiability | None:
    assert operator.expression is not None
    found = derivatives_of(operator.expression)
    if found is None or not found.gradients:
        return None
    try:
        derivatives = _gradients(operator, found.gradients, formulas)
        forward = [formulas.forward(operator.schema, ("result",), _text(operator, found.tangent), derivatives)]
    except SchemaError:  # the project uses no package with the operators that the formulas are over
        reason = f'not_implemented("{operator.name}: its derivative is over operators of packages that are not used")'
        derivatives = _gradients(operator, dict.fromkeys(found.gradients, reason), formulas)
        forward = []
    return Differentiability(
        operator,
        DEFAULT_KEY,
        operator.location,
        derivatives,
        tuple(forward),
        found.without,
        differentiable_outputs=(0,),
    )


def _gradients(operator: Operator, texts: Mapping[str, str], formulas: Formulas) -> tuple[Derivative, ...]:
    found = ((name, _text(operator, text)) for name, text in texts.items())
    return tuple(formulas.derivative(operator.schema, (name,), text, (0,)) for name, text in found)


def _text(operator: Operator, text: str) -> Text:
    return Text(text, Source(f"<derivative of {operator.name}>", text).whole())
