"""Formulas with names of dtypes, rules and operators as a generated module has them."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.formula.ast import Formula, Kind, Reference, Verbatim, rewrite

__all__ = ["spelled"]


def spelled(formula: Formula, rules: Mapping[str, str], functions: Mapping[str, str]) -> Formula:
    """Return the formula with names of dtypes, rules and operators as the module has them."""

    def change(part: Formula) -> Formula | None:
        match part:
            case Reference(Kind.DTYPE, "bool"):
                return Verbatim("dtypes.bool_")
            case Reference(Kind.RULE | Kind.FUNCTION, name) if name in rules:
                return Verbatim(rules[name])
            case Reference(Kind.OPERATOR, name):
                return Verbatim(functions[name])
        return None

    return rewrite(formula, change)
