"""Stubs that are rows: the runtime makes them of the declaration, by the shape of its arguments.

Note [Stubs by shape]
`TTa` is two tensors and an argument that is converted. The runtime makes a closure for a shape when it is first needed;
so the shapes here are those of several operators.
"""

from __future__ import annotations

from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.layout import hugged, quoted
from opwright_codegen.views.names import OTHER_NAMES
from opwright_codegen.views.operators import OperatorView

__all__ = ["NAMED", "PLAIN", "is_row", "row"]

_SHARED = frozenset(
    (
        "T", "Ta", "Taa", "Taaa", "Taaaa", "Taaaaa", "Taaaaaa", "TT", "TTa", "TTaa", "TTaaa", "TTT", "aT", "aaaaaa",
    )
)  # fmt: skip
PLAIN = _SHARED | {"aaaaa", "aaaaaaa"}
NAMED = _SHARED | {"TTTa", "TTTaa"}
_UNCHECKED = frozenset(("Any", "t"))


def is_row(view: OperatorView) -> bool:
    """Whether the runtime has a closure that does what the stub does."""
    parameters = view.parameters
    if view.is_generic or view.ints is not None or view.result is not None or view.operator.kind is SchemaKind.OUT:
        return False
    if any(p.is_renamed or not _is_known(p.argument.type) for p in parameters):
        return False
    # `dim` and `keepdim` that were left out are told from those that have their defaults.
    if view.is_merged and any(p.default is not None and p.name in OTHER_NAMES for p in parameters):
        return False
    return "".join(["T" if p.tensors is Tensors.ONE else "a" for p in parameters]) in (
        NAMED if view.is_merged else PLAIN
    )


def _is_known(type: Type) -> bool:
    """Whether a stub takes it as it is, as a tensor, or converts it."""
    match type:
        case OptionalType(elem) | ListType(elem, _):
            return str(type.base()) != "Tensor" and _is_known(elem)
        case BaseType(name):
            return name not in _UNCHECKED
        case _:
            return False


def row(view: OperatorView, packet: str | None) -> str:
    """Return the statement that makes the stub, which is the function of its name, too, where it is the only one."""
    name = view.schema.name
    usual = name.base if view.is_merged else f"{name.base}_{name.overload or 'default'}"
    named = [] if view.function == usual else [f"name={quoted(view.function)}"]
    if not view.is_merged:
        return hugged(f"{view.function} = declare.stub(", [view.private, *named], ")")
    return hugged(f"{view.function} = declare.function(", [*filter(None, (packet, view.private)), *named], ")")
