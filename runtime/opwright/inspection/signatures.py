"""Signatures, for `inspect.signature`, of operators and packets."""

from __future__ import annotations

import inspect
import keyword
from typing import Any

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.dispatch.package.declarations import REQUIRED

__all__ = ["signature_of"]


def signature_of(callee: Operator | Packet) -> inspect.Signature:
    """Return the signature of an operator, of a packet's only operator, or of the function that handles a packet."""
    if isinstance(callee, Operator):
        return _of_operator(callee)
    if len(callee.operators) == 1:
        return _of_operator(*callee.operators.values())
    return inspect.signature(_any_arguments if callee.stub is None else callee.stub)


def _any_arguments(*args: Any, **kwargs: Any) -> None:
    """Have the signature of what several overloads take."""


def _of_operator(operator: Operator) -> inspect.Signature:
    """Return declared types as annotations; a name that Python reserves gets an underscore, as in the stubs."""
    arguments, returns, _ = operator.parts
    parameters = [
        inspect.Parameter(
            each.name + "_" if keyword.iskeyword(each.name) else each.name,
            inspect.Parameter.KEYWORD_ONLY if each.is_keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if each.default is REQUIRED else each.default,
            annotation=each.annotated,
        )
        for each in arguments
    ]
    return inspect.Signature(
        parameters, return_annotation=returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    )
