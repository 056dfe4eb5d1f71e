"""Tangents in `NAME_torch.py`: forward formulas of derivatives.yaml over `torch.ops`.

Formulas that call a function of the project, or an operator that PyTorch does not have, are left out: PyTorch then
refuses tangents of the operator's arguments.
"""

from __future__ import annotations

from collections.abc import Mapping

from opwright_bindings.torch.target_gradients import GradientView
from opwright_codegen.declared.parts import ForwardDerivative
from opwright_codegen.formula.ast import Formula, Kind, Reference, Verbatim, rewrite, walk
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.bindings.framework import Package
from opwright_codegen.targets.gradients.forward import Speaker, function_of, is_complete, rule_call
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import OperatorView

__all__ = ["TangentBuilder"]

_NAMES = ("aten", "binding", "list", "own", "torch", "tuple")


class TangentBuilder:
    """The builder of tangents for the operators of a package. `calls` is what PyTorch has, as formulas call it."""

    def __init__(self, package: Package, calls: Mapping[str, str]) -> None:
        self._package = package
        self._calls = calls

        def spell(part: Formula) -> Formula | None:
            match part:
                case Reference(Kind.OPERATOR, name):
                    return Verbatim(calls[name])
            return None

        self._speaker = Speaker(lambda formula: rewrite(formula, spell), Spelling(dtype="torch."), _NAMES)

    def tangents(self, operator: OperatorView, name: str, gradient: GradientView | None) -> GradientView | None:
        """Return the tangents of an operator's results; None if there is nothing to tell PyTorch: tangents end at the
        operator, or it has a gradient alone."""
        if operator.schema.kind is not SchemaKind.FUNCTIONAL:
            return None
        full = quoted(str(operator.schema.name).partition("::")[2])
        entry = self._package.derivatives.find(operator.name) if self._package.derivatives else None
        if gradient is None:
            ends = entry is not None and not entry.differentiable_outputs
            return None if ends else GradientView((), f"binding.tangents({full})")
        if (
            entry is None
            or not entry.forward
            or not is_complete(entry)
            or not all(map(self._is_spelled, entry.forward))
        ):
            return None
        names = ["_".join((name, "tangent", *(each.outputs if at else ()))) for at, each in enumerate(entry.forward)]
        linear = f"own.{operator.schema.name.stem}"
        statements: list[str] = []
        for each, forward in zip(names, entry.forward, strict=True):
            made = function_of(operator, each, forward, linear, self._speaker)
            statements += [
                *(["", ""] if statements else []),
                made.signature,
                *(f"    {line}" for line in made.statements),
            ]
        registered = bracketed("binding.tangents(", [full, emit(rule_call(entry, names))], ")")
        return GradientView(tuple(statements), registered)

    def _is_spelled(self, forward: ForwardDerivative) -> bool:
        """Return whether PyTorch has all that a formula calls."""
        references = [] if forward.formula is None else [n for n in walk(forward.formula) if isinstance(n, Reference)]
        return forward.formula is not None and not any(
            each.kind is Kind.FUNCTION or (each.kind is Kind.OPERATOR and each.name not in self._calls)
            for each in references
        )
