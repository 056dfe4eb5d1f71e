"""Signatures, for `inspect.signature`, of operators, packets and generated functions."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable
from typing import Any

from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.dispatch.package.declarations import REQUIRED, Argument
from opwright_core.dispatch.registry.tables import Overloads

__all__ = ["signature_of"]


def signature_of(callee: Operator | Packet | Overloads) -> inspect.Signature:
    """Return the signature of an operator, or one that takes what each operator of a name takes: declared types as
    annotations, those of several overloads joined by `|`; `...` is the default of what some of them do without."""
    operators = [callee] if isinstance(callee, Operator) else [*callee.operators.copy().values()]
    parameters = [_parameter(name, given, operators) for name, given in _by_name(operators).items()]
    # Keyword-only ones last, of these `out`.
    parameters.sort(key=lambda each: (each.kind, each.kind is each.KEYWORD_ONLY and "!" in each.annotation))
    found = _with_defaults_last(parameters)
    results = [each.parts.results for each in operators]
    returned = " | ".join(dict.fromkeys(each[0] if len(each) == 1 else f"({', '.join(each)})" for each in results))
    return inspect.Signature(found, return_annotation=returned)


def _by_name(operators: Iterable[Operator]) -> dict[str, list[Argument]]:
    """Return the arguments of all operators, each name behind the one before it where it first stands."""
    names: list[str] = []
    found: dict[str, list[Argument]] = {}
    for operator in operators:
        at = 0
        for each in operator.arguments:
            if each.name not in found:
                names.insert(at, each.name)
            at = names.index(each.name) + 1
            found.setdefault(each.name, []).append(each)
    return {name: found[name] for name in names}


def _parameter(name: str, given: list[Argument], operators: list[Operator]) -> inspect.Parameter:
    """Return one parameter; a name that Python reserves gets an underscore, as in the stubs."""
    default: Any = next((each.default for each in given if each.default is not REQUIRED), inspect.Parameter.empty)
    if default is inspect.Parameter.empty and len(given) < len(operators):
        default = NOT_GIVEN
    return inspect.Parameter(
        f"{name}_" if keyword.iskeyword(name) else name,
        inspect.Parameter.KEYWORD_ONLY
        if any(each.is_keyword_only for each in given)
        else inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=" | ".join(dict.fromkeys(each.annotated for each in given)),
    )


def _with_defaults_last(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters, where one behind another that may be left out may be so, too."""
    found: list[inspect.Parameter] = []
    for each in parameters:
        is_behind = any(before.default is not inspect.Parameter.empty for before in found)
        is_plain = each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and each.default is inspect.Parameter.empty
        found.append(each.replace(default=NOT_GIVEN) if is_behind and is_plain else each)
    return found
