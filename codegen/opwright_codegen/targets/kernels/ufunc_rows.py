"""The ufunc kernels of `register.py`: which fast shims are one ufunc over their arguments (`dense`).

The compiled core of the runtime runs these without the shims, which do the same.
"""

from __future__ import annotations

from opwright_codegen.declared.parts import Binding
from opwright_codegen.formula.ast import Attribute, Call, Kind, Reference
from opwright_codegen.formula.elementwise import TRUTHS
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.kernels.dense import ALL_KINDS, DenseFacts
from opwright_codegen.views.layout import quoted

__all__ = ["ufunc_text", "ufunc_values"]

# The kinds of arguments that the runtime has shims for (`opwright_core.dispatch.compiled.ufunc_shims`).
_LETTERS = frozenset(("T", "TT", "TT1", "TN", "TN1"))


def ufunc_values(binding: Binding, facts: object, xp: str) -> list[str] | None:
    """Return the ufunc that a kernel is of its arguments in their order, the letters of these and the kinds of dtypes;
    None for another kernel. NumPy's ufuncs say which dtypes they keep, so long as no number is among the operands."""
    if not isinstance(facts, DenseFacts) or facts.writes or not ufunc_text(binding, facts):
        return None
    if facts.checks_result and (facts.scalars or binding.key != "CPU"):
        return None
    arguments = [argument.name for argument in binding.view.schema.arguments]
    letters = "".join("T" if name in facts.operands else "N" if name in facts.scalars else "1" for name in arguments)
    match facts.formula:
        case Call(Attribute(_, ufunc), operands) if letters in _LETTERS:
            given = [each.name for each in operands if isinstance(each, Reference)]
        case _:
            return None
    if given != arguments[: len(given)]:
        return None
    return [f"{xp}.{ufunc}", quoted(letters), quoted(facts.kinds or ALL_KINDS)]


def ufunc_text(binding: Binding, facts: object) -> str:
    """Return `ufunc add(0, 1) biufc`: the ufunc, the positions of its operands among the arguments, `-1` for a number
    at position 0, and the kinds of dtypes, "e" for half and bfloat16 computed in float32, "r" if numbers are rounded
    to these before; ` in place` where the first operand is written. Every other argument has to be the int 1. Returns
    nothing for another shim."""
    if not isinstance(facts, DenseFacts) or (facts.writes and binding.view.schema.kind is not SchemaKind.INPLACE):
        return ""
    match facts.formula:
        case Call(Attribute(Reference(Kind.MODULE), name), operands, ()) if name in UFUNCS and (
            facts.is_truth or name not in TRUTHS
        ):
            pass
        case _:
            return ""
    names = [each.name for each in operands if isinstance(each, Reference) and each.kind is Kind.ARGUMENT]
    arguments = [argument.name for argument in binding.view.schema.arguments]
    is_whole = len(names) == len(operands) and {*names, *dict(facts.ones)} == set(arguments)
    if not is_whole or any(type(value) is not int or value != 1 for _, value in facts.ones):
        return ""
    positions = [(-1 - arguments.index(each) if each in facts.scalars else arguments.index(each)) for each in names]
    if facts.writes and positions[0] != 0:
        return ""
    # Half is written to through the cast of a result, which has to be made first.
    kinds = f"{facts.kinds or ALL_KINDS}{'' if facts.writes else facts.widened}"
    return f"ufunc {name}({', '.join(map(str, positions))}) {kinds}{' in place' * facts.writes}"
