"""The baseline of the gate, `gate-baseline.yaml`: findings that are known, each with a reason and a date."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Final

from opwright_codegen.documents.files import read_source
from opwright_codegen.documents.nodes import (
    entry_head,
    matching,
    node_span,
    read_string,
    read_texts,
    text_span,
    wrong_type,
)
from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, read_entries
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.source import Source, Span

__all__ = ["Finding", "read_baseline"]

Finding = dict[str, str]  # an entry, by the names of `KnownFinding` in the runtime

_OPERATOR: Final = re.compile(r"(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*(?:\.\w+)?", re.ASCII)
_PROPERTY: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NEEDED: Final = ("operator", "property", "reason", "date")


def read_baseline(path: Path) -> tuple[Finding, ...]:
    """Return the entries of a file, each with its `place`. Raises SchemaErrors with everything that is wrong."""
    errors = Errors()
    source = read_source(path)
    if not re.search(r"^\s*[^#\s]", source.text, re.MULTILINE):
        return ()  # comments alone
    found: dict[tuple[str, ...], Finding] = {}
    for node in read_entries(source, errors):
        entry = _read_entry(node, source, errors)
        if entry is not None:
            key = tuple(entry.get(name, "") for name in ("operator", "property", "cause", "backend"))
            first = found.setdefault(key, entry)
            if first is not entry:
                message = f"{entry['operator']} {entry['property']} is listed twice"
                hint = f"the first is at {first['place']}"
                errors.add(SchemaError("duplicate-finding", message, _head(node, source), hint))
    errors.raise_if_any()
    return tuple(found.values())


def _read_entry(node: Node, source: Source, errors: Errors) -> Finding | None:
    written = "write '- operator: mine::f', and below it property, reason and date"
    why = "each entry says which operator and property, why the finding stays, and since when"
    entry = read_texts(node, _KEYS, _NEEDED, source, errors, written=written, why_needed=why)
    if entry is None or not isinstance(node, MappingNode):
        return None
    if entry.get("until", "9999") <= entry["date"]:
        message = f"'until' is {entry['until']}, and the entry is of {entry['date']}"
        span = node_span(node.pairs["until"][1], source)
        errors.add(SchemaError("bad-date", message, span, "it is the day from which on the finding counts again"))
        return None
    span = _head(node, source)
    return entry | {"place": f"{source.shown_path()}:{span.line}"}


def _read_day(node: Node, source: Source) -> str:
    if not isinstance(node, ScalarNode):
        raise wrong_type("a date", node, source, "for example 2026-11-27")
    try:
        if not _DAY.fullmatch(node.text):
            raise ValueError("a date is expected")
        date.fromisoformat(node.text)
    except ValueError as error:
        message = "a date is expected" if str(error) == "a date is expected" else f"{node.text} is no day: {error}"
        raise SchemaError("bad-date", message, text_span(node, source), "for example 2026-11-27") from None
    return node.text


def _head(node: Node, source: Source) -> Span:
    return entry_head(node, source) if isinstance(node, MappingNode) else node_span(node, source)


_KEYS: Final[dict[str, Callable[[Node, Source], str]]] = {
    "operator": matching("the name of an operator, with its namespace", _OPERATOR, "mine::scale.out"),
    "property": matching("the name of a property", _PROPERTY, "schema-writes"),
    "cause": read_string,
    "backend": read_string,
    "reason": read_string,
    "date": _read_day,
    "until": _read_day,
}
