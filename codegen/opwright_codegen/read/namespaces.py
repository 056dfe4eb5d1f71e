"""The rule that operators of a project have a namespace, so that none is taken for one of PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.model import Operator
from opwright_codegen.schema.names import PYTORCHS

__all__ = ["check_namespaces"]

_ELSE = f'namespace = "{PYTORCHS}" of [tool.opwright], and --namespace {PYTORCHS}, are for PyTorch\'s own operators'


def check_namespaces(operators: Iterable[Operator], errors: Errors) -> None:
    """Record an error for the first operator of each file that is declared without a namespace."""
    declared = list(operators)
    known = sorted({operator.namespace for operator in declared if _names_its_own(operator)} - {PYTORCHS})
    by_file: dict[str, list[Operator]] = {}
    for operator in declared:
        if not _names_its_own(operator):
            by_file.setdefault(operator.location.source.path, []).append(operator)
    for found in by_file.values():
        errors.add(_without_namespace(found[0], len(found) - 1, known))


def _names_its_own(operator: Operator) -> bool:
    return "::" in (operator.schema.text or str(operator.schema)).partition("(")[0]


def _without_namespace(operator: Operator, others: int, known: list[str]) -> SchemaError:
    local = operator.name.partition("::")[2]
    span = operator.span("func")
    start = max(span.text.find(local), 0)
    more = f", and {others:,} more of this file have none" if others else ""
    message = f"{local} has no namespace: in PyTorch's it would replace {PYTORCHS}::{local} in the whole process{more}"
    spaces = known or ["mine"]
    which = " or ".join(f"{space}::{local}(…)" for space in spaces[:3])
    base, _, overload = local.partition(".")
    if overload[:1].islower() and not overload.endswith("out"):  # `mine.scale(…)`, as Python has it
        which = f"{base}::{overload}(…) if {base} is the namespace, else {which}"
    which += ", as other operators of the project have it" if known else ", in a namespace of your own"
    at = span.sub(start, start + len(local)) if local in span.text else span
    return SchemaError("missing-namespace", message, at, f"write {which}; {_ELSE}")
