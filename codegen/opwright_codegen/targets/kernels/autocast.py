"""`autocast/`: how regions of autocast cast the tensors of each operator that has the key `autocast`.

One line an operator: what policies do with arguments is the runtime's (`opwright.amp.wrappers`), which finds by the
schema which of them are tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.declared.parts import DTYPE, dtype_overload, takes_dtype
from opwright_codegen.records import dataclass
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.layout import bracketed, fill_comment, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["FOLDER", "KEY", "TEMPLATE", "context", "wrapper_names"]

FOLDER = "autocast"
KEY = "Autocast"
TEMPLATE = "autocast.py.j2"
_FUNCTION = "autocast_wrapper"
_RESERVED = (_FUNCTION, "annotations")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The line of one operator: its comment, and the statement that makes its wrapper."""

    comment: str
    statement: str


def wrapper_names(view: NamespaceView) -> dict[str, str]:
    """Return the wrapper of each operator that has one."""
    namer = Namer(_RESERVED)
    return {name: namer.claim(each.stub) for name, each in view.operators.items() if each.operator.autocast}


def context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template shows; None where no operator is cast."""
    names = wrapper_names(view)
    if not names:
        return None
    wrappers = [_wrapper(view.operators[name], function, view) for name, function in names.items()]
    return {"wrappers": wrappers, "imports": import_lines({_FUNCTION})}


def _wrapper(operator: OperatorView, function: str, view: NamespaceView) -> Wrapper:
    arguments = [quoted(operator.name), *(_policy(*each) for each in operator.operator.autocast)]
    if any(policy == DTYPE for _, policy in operator.operator.autocast) and not takes_dtype(operator.schema):
        arguments.append(f"with_dtype={quoted(_overload(operator, view.packets[operator.schema.name.base]))}")
    statement = bracketed(f"{function} = {_FUNCTION}(", arguments, ")")
    return Wrapper(fill_comment(operator.declaration), statement)


def _policy(device: str, policy: str) -> str:
    return f"{device}={quoted(policy)}" if device else quoted(policy)


def _overload(operator: OperatorView, group: Sequence[OperatorView]) -> str:
    found = dtype_overload(operator.schema, (each.schema for each in group))
    assert found is not None  # a rule of `read.autocast`
    return str(found.name)
