"""Functions that take arguments by other names: Note [Other names of arguments] in `names`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.views.layout import LINE, bracketed
from opwright_codegen.views.names import OTHER_NAMES
from opwright_codegen.views.operators import Parameter, tuple_text

__all__ = ["Named", "named_view", "taken_by_name"]


@dataclass(frozen=True, slots=True)
class Named:
    """The beginning of a function: the statement for a call with a name that is no parameter's, or with more positional
    arguments than there are (`test`), and the defaults of parameters that were left out."""

    test: str
    call: str
    defaults: tuple[tuple[str, str], ...]


def named_view(
    callee: str, parameters: Sequence[Parameter], ints: int | None, *, as_tuple: bool = False
) -> Named | None:
    """Return what a function of these parameters begins with, or None. `as_tuple`: lists become tuples.

    Where the list at `ints` may come one by one, further positional arguments are its own.
    """
    if not parameters:
        return None
    values = [p.name for p in parameters]
    opening, closing = ("as_tuple(", ")") if as_tuple else ("", "")
    rest = "named, more" if ints is None else "named"
    text = f"return {opening}{callee}.call_given({tuple_text(values)}, {rest}){closing}"
    if len(text) + 8 > LINE and not as_tuple:
        pad = " " * 12
        inner = f"{tuple_text(values)}, {rest}"
        if len(inner) + 12 > LINE:
            lines = f",\n{pad}".join([bracketed("(", values, ")", 12, 1), *rest.split(", ")])
            inner = f"{lines},"
        text = f"return {callee}.call_given(\n{pad}{inner}\n{' ' * 8})"
    defaults = tuple([(p.name, p.default) for p in parameters if p.default is not None and p.name in OTHER_NAMES])
    return Named("named or more" if ints is None else "named", text, defaults)


def taken_by_name(parameters: Sequence[Parameter], keyword: int | None, ints: int | None) -> list[str]:
    """Return the parameters of such a function. Those from `keyword` on are keyword-only, and those of the list at
    `ints` may come one by one."""
    found = []
    last = len(parameters) if keyword is None else keyword
    for position, parameter in enumerate(parameters):
        if position == last and ints is None:
            found.append("*more")
        is_told = parameter.default is None or parameter.name in OTHER_NAMES
        if position == ints:
            found += [f"{parameter.name}=NOT_GIVEN", "*more"]
        else:
            found.append(f"{parameter.name}={'NOT_GIVEN' if is_told else parameter.default}")
    if found and last == len(parameters) and ints is None:
        found.append("*more")
    return [*found, "**named"] if found else []
