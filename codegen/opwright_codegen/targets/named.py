"""Has the functions of a name take arguments by other names: Note [Other names of arguments] in `names`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opwright_codegen.targets.counted import Branch
from opwright_codegen.views.layout import LINE, bracketed
from opwright_codegen.views.names import OTHER_NAMES, BuiltinNames
from opwright_codegen.views.operators import Parameter, tuple_text

__all__ = ["Named", "named_view", "taken_by_name", "value_of"]


@dataclass(frozen=True, slots=True)
class Named:
    """Holds what stands first in a function: the statement for a call with a name that is no parameter's, the branch
    for one with `out` alone, where it is quicker, and the defaults of parameters that were left out."""

    call: str
    out: Branch | None
    defaults: tuple[tuple[str, str], ...]


def named_view(
    callee: str, parameters: Sequence[Parameter], out: Branch | None = None, *, as_tuple: bool = False
) -> Named | None:
    """Return what a function of these parameters begins with, or None. `as_tuple`: lists become tuples."""
    if not parameters:
        return None
    values = [p.name for p in parameters]
    opening, closing = ("as_tuple(", ")") if as_tuple else ("", "")
    text = f"return {opening}{callee}.call_given({tuple_text(values)}, named){closing}"
    if len(text) + 8 > LINE and not as_tuple:
        pad = " " * 12
        row = bracketed("(", values, ")", 12, 1)
        text = f"return {callee}.call_given(\n{pad}{row},\n{pad}named,\n{' ' * 8})"
    defaults = tuple([(p.name, p.default) for p in parameters if p.default is not None and p.name in OTHER_NAMES])
    return Named(text, out, defaults)


def taken_by_name(
    declared: Sequence[str],
    parameters: Sequence[Parameter],
    keyword: int | None,
    ints: int | None,
    builtins: BuiltinNames,
) -> list[str]:
    """The parameters of such a function. `declared` are names with annotations; those from `keyword` on are
    keyword-only, and those of the list at `ints` may come one by one."""
    found = []
    for position, (text, parameter) in enumerate(zip(declared, parameters, strict=True)):
        if position == keyword and ints is None:
            found.append("*")
        is_told = parameter.default is None or parameter.name in OTHER_NAMES
        if position == ints:
            found += [f"{text} | {builtins['int']} = NOT_GIVEN", f"*more: {builtins['int']}"]
        else:
            found.append(f"{text} = {'NOT_GIVEN' if is_told else parameter.default}")
    return [*found, "**named: Any"] if found else []


def value_of(parameter: Parameter) -> str:
    """The expression for the value of a parameter before its default took the place of what was left out."""
    if parameter.default is None or parameter.name not in OTHER_NAMES:
        return parameter.name
    return f"{parameter.default} if {parameter.name} is NOT_GIVEN else {parameter.name}"
