"""schemas/derivatives.yaml as a whole: every formula can be read, and every operator has one or says why not."""

from __future__ import annotations

from declared import aten
from differentiating import derivatives

from opwright_codegen.derivatives.derivative import Derivative, ForwardDerivative
from opwright_codegen.schema.model import SchemaKind


def test_every_name_resolves() -> None:
    for by_key in derivatives().entries.values():
        for entry in by_key.values():
            written: tuple[Derivative | ForwardDerivative, ...] = (*entry.derivatives, *entry.forward)
            assert all(each.formula is not None for each in written), entry.operator.name


def test_every_operator_has_derivatives_or_a_reason() -> None:
    """Operators made of others have those of their parts; the rest have an entry, be it one that says no."""
    missing = [
        name
        for name, operator in aten().operators.operators.items()
        if operator.kind is SchemaKind.FUNCTIONAL
        and not operator.generated
        and not any("Implicit" in key for key, _ in operator.dispatch)
        and any(argument.type.is_tensor_like for argument in operator.schema.arguments)
        and any(result.type.is_tensor_like for result in operator.schema.returns)
        and name not in derivatives().entries
    ]
    assert missing == []
