"""Groups of variants: which operators belong together, and what has to hold among them."""

from __future__ import annotations

from collections.abc import Iterable

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.model import Operator, OperatorGroup
from opwright_codegen.read.rule import report
from opwright_codegen.schema.model import FunctionSchema, SchemaKind

__all__ = ["check_group", "group_operators"]


def group_operators(operators: Iterable[Operator], errors: Errors) -> list[OperatorGroup]:
    """Group operators by signature, in the order of each group's first. The second of a kind in a group is an error in
    ATen; elsewhere it is a group of its own."""
    groups: dict[tuple[FunctionSchema, str], dict[SchemaKind, Operator]] = {}
    for operator in operators:
        signature = operator.schema.signature()
        first = groups.setdefault((signature, ""), {}).setdefault(operator.kind, operator)
        if first is not operator:
            groups[signature, operator.name] = {operator.kind: operator}
            message = f"{operator.schema.name} and {first.schema.name} differ in nothing that a call shows"
            hint = f"the other {first.kind.value} variant is at {first.location}"
            report(operator, SchemaError("duplicate-kind", message, operator.span("func"), hint), errors)
    return [
        OperatorGroup(
            functional=kinds.get(SchemaKind.FUNCTIONAL),
            inplace=kinds.get(SchemaKind.INPLACE),
            out=kinds.get(SchemaKind.OUT),
            mutable=kinds.get(SchemaKind.MUTABLE),
        )
        for kinds in groups.values()
    ]


def check_group(group: OperatorGroup, errors: Errors) -> None:
    """Check what has to hold once every variant is there."""
    if group.functional is None and len(group.members) > 1:
        operator = group.members[0]
        message = f"{operator.schema.name}: its group has no functional variant"
        hint = "declare one with the same arguments"
        report(operator, SchemaError("no-functional", message, operator.span("func"), hint), errors)
        return
    if group.mutable is not None and group.functional is not None and group.out is not None:
        _check_functional_name(group.functional, errors)
    is_whole = group.out is not None and group.functional is not None
    for operator in group.members:
        problem = _structured_problem(operator, group.out if is_whole else None)
        if problem is not None:
            key = "structured" if operator.structured else "structured_delegate"
            errors.add(
                SchemaError("structured-group", f"{operator.schema.name}: {problem}", operator.span(key), _STRUCTURED)
            )


_STRUCTURED = "the out variant has 'structured: True', the others 'structured_delegate' with its name"


def _structured_problem(operator: Operator, out: Operator | None) -> str | None:
    """Return what is wrong with the operator's part in a structured group; `out` is the group's, if it is whole."""
    takes_part = operator.structured or operator.structured_delegate is not None
    if out is None:
        return (
            "a structured operator needs a functional and an out variant with the same arguments"
            if takes_part
            else None
        )
    if out.structured and not takes_part:
        return f"it belongs to the structured group of {out.name}"
    if takes_part and not out.structured:
        return f"its out variant {out.name} is not structured"
    if operator.structured_delegate is not None and f"{operator.namespace}::{operator.structured_delegate}" != out.name:
        return f"it delegates to {operator.structured_delegate}, but its out variant is {out.name}"
    return None


def _check_functional_name(functional: Operator, errors: Errors) -> None:
    """Check that functional and mutable variants take different arguments: one base name could not tell them apart."""
    if not functional.schema.name.base.endswith("_functional"):
        message = f"{functional.schema.name}: with a mutable variant beside it, its name ends in _functional"
        report(functional, SchemaError("functional-name", message, functional.span("func")), errors)
