"""Entries of schema files: the reading of one entry into an Operator, by the table of keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from opwright_codegen.documents.foreign import (
    BackendForm,
    backend_error,
    explain_backend,
    is_backend_entry,
    names_alone,
)
from opwright_codegen.documents.nodes import (
    entry_head,
    is_verbatim,
    node_span,
    read_list_or_one,
    read_scalar,
    read_string,
    text_span,
    unknown_key,
    wrong_type,
)
from opwright_codegen.documents.yaml_reader import MappingNode, Node, Pair, ScalarNode, read_entries
from opwright_codegen.errors import Errors, SchemaError, nearest, shorten
from opwright_codegen.expressions.expression import read_expression
from opwright_codegen.read import values
from opwright_codegen.read.entry_keys import KEYS
from opwright_codegen.read.model import Kernel, KeySpans, Operator
from opwright_codegen.read.old_dims import OLD_KEYS, read_old_dims
from opwright_codegen.schema.model import FunctionSchema, OperatorName
from opwright_codegen.schema.names import (
    DISPATCH_KEYS,
    EXPRESSION_KEYS,
    OTHER_NAMES,
    PYTORCHS,
    UFUNC_KEYS,
    default_kernel_name,
)
from opwright_codegen.source import Source, Span, Text

__all__ = ["read_operators", "read_schema", "read_tags"]


def read_operators(
    source: Source, tags: Collection[str], errors: Errors, namespace: str = PYTORCHS
) -> Iterator[Operator]:
    """Yield the operators that `source` declares, each as its entry says; what is wrong goes to `errors`.

    Operators that are declared without a namespace are in `namespace`.
    """
    for node in _entries(source, errors):
        if type(node) is not MappingNode:
            is_close = isinstance(node, ScalarNode) and node.text.startswith("func:")
            hint = "put a space behind the colon: " if is_close else ""
            hint += "write '- func: name(Tensor self) -> Tensor'"
            errors.add(wrong_type("a mapping", node, source, hint))
        elif is_backend_entry(node):
            errors.add(backend_error(BackendForm.EXECUTORCH, entry_head(node, source)))
            return
        else:
            operator = _read_entry(node, source, tags, errors, namespace)
            if operator is not None:
                yield operator


def _entries(source: Source, errors: Errors) -> Iterator[Node]:
    """Yield the entries of a file; none, and an error, where most of them are names and no schemas."""
    nodes = read_entries(source, errors, explain_backend)
    first = next(nodes, None)
    if first is not None and names_alone(first):
        rest = list(nodes)
        named = 1 + sum(map(names_alone, rest))
        if named > 1 and named > len(rest) / 2:
            errors.add(backend_error(BackendForm.NAMES, Span(source, first.start, first.start + 1)))
            return
        nodes = iter(rest)
    if first is not None:
        yield first
    yield from nodes


def read_tags(source: Source, errors: Errors) -> dict[str, str]:
    """Return the tags that `source` lists, each with its description."""
    tags: dict[str, str] = {}
    for node in read_entries(source, errors):
        try:
            name, description = _read_tag(node, source)
            tags[name] = description
        except SchemaError as error:
            errors.add(error)
    return tags


def _read_tag(node: Node, source: Source) -> tuple[str, str]:
    if type(node) is not MappingNode:
        raise wrong_type("a mapping", node, source, "write '- tag: name' and below it 'desc: what it says'")
    for name, (key, _) in node.pairs.items():
        if name not in ("tag", "desc"):
            raise unknown_key(name, ("tag", "desc"), node_span(key, source))
    for name in ("tag", "desc"):
        if name not in node.pairs:
            raise SchemaError("missing-key", f"the tag has no {name!r}", entry_head(node, source))
    tag, description = node.pairs["tag"][1], node.pairs["desc"][1]
    return values.read_identifier(tag, source), read_string(description, source)


def _read_entry(
    node: MappingNode, source: Source, tags: Collection[str], errors: Errors, namespace: str
) -> Operator | None:
    schema = None
    fields: dict[str, Any] = {}
    old: dict[str, Node] = {}
    offsets = {}
    for name, pair in node.pairs.items():
        key, value = pair
        offsets[name] = (key.start, key.end, value.start, value.end)
        try:
            if name == "func":
                schema = read_schema(value, source, namespace)
            elif name in OLD_KEYS:
                old[name] = value
            elif name not in KEYS:
                raise _unknown_key(name, node_span(key, source))
            elif (read := KEYS[name].reader) is not None:
                fields[KEYS[name].field or name] = read(value, source)
        except SchemaError as error:
            errors.add(error)
        if errors.is_full:
            return None
    _add_old_dims(fields, old, node, source, errors)
    location = entry_head(node, source)
    if "func" not in node.pairs:
        hint = "every entry has one: func: name(Tensor self) -> Tensor"
        errors.add(SchemaError("missing-key", "the entry has no 'func'", location, hint))
    if schema is None:
        return None
    fields["tags"] = _implied_tags(schema, tags) | _read_tag_names(node.pairs.get("tags"), source, tags, errors)
    fields["variant_tags"] = _read_variant_tags(node.pairs.get("variant_tags"), source, tags, errors)
    if "kernel" in node.pairs and not _add_expression(schema, fields, node, source, errors):
        return None
    fields["dispatch"] = _full_dispatch(
        schema, fields, not node.pairs.keys().isdisjoint(("dispatch", "kernel")), location
    )
    return Operator(schema, location, spans=KeySpans(source, offsets), **fields)


def _add_old_dims(
    fields: dict[str, Any], old: Mapping[str, Node], node: MappingNode, source: Source, errors: Errors
) -> None:
    """Add what keys that `dims` has replaced say."""
    try:
        if old and "dims" in node.pairs:
            message = f"the entry has 'dims', of which {', '.join(map(repr, old))} is a part"
            raise SchemaError("old-dims", message, node_span(next(iter(old.values())), source), "say it in 'dims'")
        if old:
            fields["dims"] = read_old_dims(old, source)
    except SchemaError as error:
        errors.add(error)


def _add_expression(
    schema: FunctionSchema, fields: dict[str, Any], node: MappingNode, source: Source, errors: Errors
) -> bool:
    """Add what `kernel` stands for: kernels, and `meta` where the entry has none. False where it is wrong."""
    text: Text | None = fields.pop("expression", None)
    if text is None or ("dtypes" in node.pairs and "dtypes" not in fields):
        return False  # which is said already
    at = node_span(node.pairs["dtypes"][1], source) if "dtypes" in node.pairs else None
    try:
        found = read_expression(schema, text, fields.get("dtypes"), at)
    except SchemaError as error:
        errors.add(error)
        return False
    given = {key for key, _ in fields.get("dispatch", ())}
    made = ((key, Kernel(text.text, text.span)) for key in EXPRESSION_KEYS if key not in given)
    fields["dispatch"] = (*fields.get("dispatch", ()), *made)
    fields.setdefault("meta", Text(found.meta(), text.span))
    fields["expression"] = found
    return True


def read_schema(node: Node, source: Source, namespace: str) -> FunctionSchema:
    """Return the schema of `node`, in `namespace` where it names none. Raises SchemaError with its position."""
    scalar = read_scalar(node, source)
    text = scalar.text.rstrip("\n")
    span = text_span(scalar, source)
    schema = FunctionSchema.parse(text, span) if is_verbatim(scalar, span) else values.parse_elsewhere(text, span)
    name = schema.name
    if name.namespace:
        return schema
    # Made by hand, since `replace` twice for each of thousands of entries takes a tenth of the whole run.
    return FunctionSchema(
        OperatorName(namespace, name.base, name.overload),
        schema.arguments,
        schema.returns,
        schema.is_vararg,
        schema.is_varret,
        schema.text,
        schema.span,
    )


def _implied_tags(schema: FunctionSchema, known: Collection[str]) -> frozenset[str]:
    """Return the tags that follow from the schema, as far as the tags file has them."""
    tags = ["pt2_compliant_tag"] if schema.name.namespace == PYTORCHS else []
    if schema.out_arguments:
        tags.append("out")
    if schema.name.inplace:
        tags.append("inplace")
    return frozenset(tag for tag in tags if tag in known)


def _read_tag_names(pair: Pair | None, source: Source, known: Collection[str], errors: Errors) -> frozenset[str]:
    if pair is None:
        return frozenset()
    try:
        scalars = read_list_or_one(pair[1], source)
        for scalar in scalars:
            if scalar.text not in known:
                raise _unknown_tag(scalar, source, known)
    except SchemaError as error:
        errors.add(error)
        return frozenset()
    return frozenset(scalar.text for scalar in scalars)


def _read_variant_tags(
    pair: Pair | None, source: Source, known: Collection[str], errors: Errors
) -> dict[str, frozenset[str]]:
    """Return the tags of made variants, by their names without namespace."""
    if pair is None:
        return {}
    node = pair[1]
    if type(node) is not MappingNode:
        hint = "write {add.out: pointwise}"
        errors.add(wrong_type("a mapping from variants to tags", node, source, hint))
        return {}
    return {name: _read_tag_names(found, source, known, errors) for name, found in node.pairs.items()}


def _full_dispatch(
    schema: FunctionSchema, fields: Mapping[str, Any], is_given: bool, location: Span
) -> tuple[tuple[str, Kernel], ...]:
    """Return the table of the entry, with the kernels that other keys stand for."""
    table: tuple[tuple[str, Kernel], ...] = fields.get("dispatch", ())
    is_structured = fields.get("structured", False) or "structured_delegate" in fields
    if not is_given and not is_structured:
        table = (("CompositeImplicitAutograd", Kernel(default_kernel_name(schema), location)),)
    if fields.get("ufunc_inner_loop"):
        made = ((key, Kernel(f"ufunc_{schema.name.base}_{key}", location)) for key in UFUNC_KEYS)
        given = {key for key, _ in table}
        table += tuple((key, kernel) for key, kernel in made if key not in given)
    return table


def _unknown_key(name: str, span: Span) -> SchemaError:
    """Return the error for a key that entries do not have. A dispatch key is indented too little."""
    key = name if name in DISPATCH_KEYS else OTHER_NAMES.get(name.lower())
    if key is None:
        return unknown_key(name, KEYS, span)
    hint = f"{key} is a key of 'dispatch:': indent it below that line"
    return SchemaError("unknown-key", f"unknown key {shorten(name)!r}", span, hint)


def _unknown_tag(node: ScalarNode, source: Source, known: Collection[str]) -> SchemaError:
    near = nearest(node.text, known)
    hint = f"did you mean {near!r}?" if near else f"known tags: {', '.join(sorted(known))}"
    if "," in node.text:
        hint = "several tags are a list: [core, pointwise]"
    return SchemaError("unknown-tag", f"unknown tag {shorten(node.text)!r}", text_span(node, source), hint)
