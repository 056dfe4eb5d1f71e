"""The keys `since`, `deprecated` and `upgrade`: which release has an operator, and how older calls are written now."""

from __future__ import annotations

import re
from typing import Final

from opwright_codegen.documents.nodes import node_span, read_scalar, text_span, unknown, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.model import Deprecation, Upgrade
from opwright_codegen.read.values import read_text
from opwright_codegen.source import Source

__all__ = ["read_deprecated", "read_release", "read_upgrades"]

_RELEASE = re.compile(r"v?[0-9][0-9A-Za-z.+!-]{0,63}")
_VERSION = re.compile(r"[0-9]{1,4}")
_MOST: Final = 100  # versions of one operator
_EXAMPLE: Final = "write a line for each version: {2: self.soft(limit=lambd)}"

_QUOTES: Final = "a call with a comma stands in quotes: {2: 'soft(self, limit=lambd)'}"


def read_release(node: Node, source: Source) -> str:
    """Read the number of a release, `1.2`."""
    scalar = read_scalar(node, source)
    if _RELEASE.fullmatch(scalar.text):
        return scalar.text
    raise SchemaError("release-number", "the number of a release is expected", text_span(scalar, source), "as in 1.2")


def read_deprecated(node: Node, source: Source) -> Deprecation:
    """Read a mapping such as `{since: 1.2, use: soft, message: it was slow}`."""
    if type(node) is not MappingNode:
        raise wrong_type("a mapping", node, source, "write {since: 1.2, use: soft}")
    found = {}
    for name, (key, value) in node.pairs.items():
        if name not in ("since", "use", "message"):
            raise unknown("deprecated key", name, ("since", "use", "message"), node_span(key, source))
        text = read_release(value, source) if name == "since" else " ".join(read_scalar(value, source).text.split())
        if not text.isprintable():
            raise SchemaError("doc-character", "a character of the text cannot be shown", node_span(value, source))
        found[name] = text
    return Deprecation(**found)


def read_upgrades(node: Node, source: Source) -> tuple[Upgrade, ...]:
    """Read a mapping from versions to calls, or to `{from: the schema before, call: the call}`. Versions begin at 2,
    and none is left out."""
    if type(node) is not MappingNode:
        raise wrong_type("a mapping from versions to calls", node, source, _EXAMPLE)
    found = []
    for at, (name, (key, value)) in enumerate(node.pairs.items(), 2):
        if not _VERSION.fullmatch(name) or int(name) != at or at > _MOST:
            message = f"version {at} is expected here, not {name!r:.40}"
            hint = "versions are counted from 2, the first that needs an upgrade, and stand in order"
            hint = hint if _VERSION.fullmatch(name) else _QUOTES
            raise SchemaError("upgrade-version", message, node_span(key, source), hint)
        found.append(_upgrade(at, value, source))
    return tuple(found)


def _upgrade(version: int, node: Node, source: Source) -> Upgrade:
    if type(node) is not MappingNode:
        return Upgrade(version, read_text(node, source))
    for name, (key, _) in node.pairs.items():
        if name not in ("from", "call"):
            raise SchemaError(
                "unknown-upgrade-key",
                f"'from' and 'call' are expected, not {name!r:.40}",
                node_span(key, source),
                _QUOTES,
            )
    if "call" not in node.pairs:
        hint = "write {from: 'soft(Tensor self, Scalar lambd=0.5) -> Tensor', call: self.soft(limit=lambd)}"
        raise SchemaError("missing-key", "the upgrade has no 'call'", node_span(node, source), hint)
    old = node.pairs.get("from")
    call = read_text(node.pairs["call"][1], source)
    return Upgrade(version, call, None if old is None else read_text(old[1], source))
