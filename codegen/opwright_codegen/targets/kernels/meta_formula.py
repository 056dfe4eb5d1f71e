"""The function of a `meta` formula that is given at run time."""

from __future__ import annotations

from opwright_codegen.declared.meta_formula import BoundMeta
from opwright_codegen.formula.ast import Tuple
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.layout import fill_comment
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import signature

__all__ = ["FUNCTION", "TEMPLATE", "context"]

TEMPLATE = "meta_formula.py.j2"
FUNCTION = "plans"
_RESERVED = (FUNCTION, "builtins", "dtypes", "math", "rules")


def context(bound: BoundMeta) -> dict[str, object]:
    """Return what the template shows: a function of the operator's arguments, with arrays for tensors."""
    namer = Namer(_RESERVED)
    own = {argument.name: namer.claim(argument.name) for argument in bound.schema.arguments}
    spelling = Spelling(builtin="builtins.", arguments=own)
    formulas = [spelled(formula, {}, {}) for formula in bound.formulas]
    result = formulas[0] if len(formulas) == 1 else Tuple(tuple(formulas))
    text = str(bound.schema)
    return {
        "comment": fill_comment(text[text.index("(") :]),
        "signature": signature(FUNCTION, [f"{name}: Any" for name in own.values()], "Any"),
        "formula": emit(result, spelling),
    }
