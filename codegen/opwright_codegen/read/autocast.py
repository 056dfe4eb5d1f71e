"""The key `autocast`: how an operator's tensors are cast in regions of autocast; its reader and its rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opwright_codegen.documents.nodes import node_span, read_scalar, text_span, unknown
from opwright_codegen.documents.yaml_reader import MappingNode, Node
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.model import Operator
from opwright_codegen.read.rule import Declared, Problem, Rule
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.source import Source

__all__ = ["AUTOCAST_RULES", "dtype_overload", "read_autocast"]

BANNED = "banned"
DTYPE = "float32_dtype"
UNCHANGED = "unchanged"
POLICIES = ("lower_precision", "float32", DTYPE, "promote", UNCHANGED)
DEVICES = ("CPU", "CUDA")


def read_autocast(node: Node, source: Source) -> tuple[tuple[str, str], ...]:
    """Read a policy for all devices, whose name is then "", or one for each of several."""
    if type(node) is not MappingNode:
        return (("", _read_policy(node, source)),)
    found: dict[str, str] = {}
    for names, (key_node, value) in node.pairs.items():
        for name in names.split(","):
            device = name.strip()
            if device not in DEVICES:
                raise unknown("autocast device", device, DEVICES, node_span(key_node, source))
            if device in found:
                span = node_span(key_node, source)
                raise SchemaError("duplicate-key", f"the device {device!r} appears twice", span)
            found[device] = _read_policy(value, source)
    return tuple(sorted(found.items()))


def _read_policy(node: Node, source: Source) -> str:
    scalar = read_scalar(node, source)
    text = " ".join(scalar.text.split())
    kind, colon, advice = text.partition(": ")
    if kind.rstrip(":") == BANNED and not advice:
        hint = "for example 'banned: use binary_cross_entropy_with_logits'"
        raise SchemaError("autocast-advice", "what callers shall do is missing", text_span(scalar, source), hint)
    if text not in POLICIES and not (colon and kind == BANNED):
        raise unknown("autocast policy", kind, (*POLICIES, BANNED), text_span(scalar, source))
    return text


def dtype_overload(schema: FunctionSchema, schemas: Iterable[FunctionSchema]) -> FunctionSchema | None:
    """Return the overload of an operator that takes a `dtype` behind the operator's arguments."""
    wanted = [*(argument.name for argument in schema.arguments), "dtype"]
    for other in schemas:
        name = other.name
        if (name.namespace, name.base) != (schema.name.namespace, schema.name.base):
            continue
        if [argument.name for argument in other.arguments] == wanted and not other.out_arguments:
            return other
    return None


def takes_dtype(schema: FunctionSchema) -> bool:
    """Whether an argument says what dtype the results have, if it is given."""
    return any(str(argument.type) == "ScalarType?" for argument in schema.arguments)


# -- rules


def _casts_tensors(operator: Operator, _: Declared) -> Problem | None:
    if not operator.autocast or any(argument.type.is_tensor_like for argument in operator.schema.arguments):
        return None
    return Problem("no argument is a tensor that could be cast", operator.span("autocast"), "leave 'autocast' out")


def _writes_nothing(operator: Operator, _: Declared) -> Problem | None:
    if operator.kind is SchemaKind.FUNCTIONAL or all(policy == UNCHANGED for _, policy in operator.autocast):
        return None
    hint = "leave 'autocast' out: in-place and out variants run in the dtype of what they write"
    return Problem("what the operator writes cannot be cast", operator.span("autocast"), hint)


def _is_alone(operator: Operator, _: Declared) -> Problem | None:
    kernel = next((kernel for key, kernel in operator.dispatch if key.startswith("Autocast")), None)
    if not operator.autocast or kernel is None:
        return None
    return Problem("the operator has a kernel for Autocast, too", kernel.span, "leave one of them out")


def _has_dtype(operator: Operator, declared: Declared) -> Problem | None:
    if not any(policy == DTYPE for _, policy in operator.autocast) or takes_dtype(operator.schema):
        return None
    if dtype_overload(operator.schema, (each.schema for each in declared.operators.values())) is not None:
        return None
    message = "neither the operator nor an overload of it takes a 'ScalarType? dtype'"
    return Problem(message, operator.span("autocast"), "float32 casts its tensors instead")


AUTOCAST_RULES: Mapping[str, Rule] = {
    "autocast-tensors": _casts_tensors,
    "autocast-writes": _writes_nothing,
    "autocast-kernel": _is_alone,
    "autocast-dtype": _has_dtype,
}
