"""The lock, `api.lock.yaml`: the schemas and versions that a project promises, written by `opwright freeze`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from opwright_codegen.declared.parts import Operator
from opwright_codegen.documents.nodes import node_span, read_scalar, text_span, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node, read_entries
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Span

__all__ = ["LOCK", "Locked", "lock_text", "read_lock"]

LOCK: Final = "api.lock.yaml"
_HEAD: Final = """\
# What operators promise to those who call them. `opwright check` compares the schema files with it, and
# `opwright freeze` writes it anew: at a release, and where a promise is changed on purpose.
"""


class Locked(NamedTuple):
    """A promise: the schema, its version, and where the lock has it."""

    schema: FunctionSchema
    version: int
    span: Span


def lock_text(operators: Iterable[Operator]) -> str:
    """Return the lock of operators: an entry each, with its version where that is not the first."""
    lines = [_HEAD]
    for operator in sorted((each for each in operators if each.serves is None), key=lambda each: each.name):
        schema = str(operator.schema).replace("'", "''")
        lines.append(f"- func: '{schema}'\n")
        if operator.version > 1:
            lines.append(f"  version: {operator.version}\n")
    return "".join(lines)


def read_lock(source: Source) -> dict[str, Locked]:
    """Return what a lock promises, by qualified name. Raises SchemaErrors."""
    errors = Errors()
    found: dict[str, Locked] = {}
    for node in read_entries(source, errors):
        try:
            locked = _locked(node, source)
            found[str(locked.schema.name)] = locked
        except SchemaError as error:
            errors.add(error)
    errors.raise_if_any()
    return found


def _locked(node: Node, source: Source) -> Locked:
    if type(node) is not MappingNode or not {"func"} <= node.pairs.keys() <= {"func", "version"}:
        raise wrong_type("an entry with 'func' and 'version'", node, source, "write it anew: opwright freeze")
    scalar = read_scalar(node.pairs["func"][1], source)
    span = text_span(scalar, source)
    version = 1
    if "version" in node.pairs:
        text = read_scalar(node.pairs["version"][1], source).text
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 1000):
            at = node_span(node.pairs["version"][1], source)
            raise SchemaError("wrong-type", "a version is a number of at least 1", at, "write it anew: opwright freeze")
        version = int(text)
    return Locked(FunctionSchema.parse(scalar.text, span if span.text == scalar.text else None), version, span)
