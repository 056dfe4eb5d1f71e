"""The JSON Schema for editors says what the reader reads."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from opwright_codegen.errors import SchemaError
from opwright_codegen.read.entries import ALL_KEYS, KEYS
from opwright_codegen.read.yaml_reader import MappingNode, ScalarNode, SequenceNode
from opwright_codegen.source import Source

SCHEMA = json.loads((files("opwright_codegen.schemas") / "native_functions.schema.json").read_text(encoding="utf-8"))
ENTRY = SCHEMA["$defs"]["entry"]
PROPERTIES: dict[str, Any] = ENTRY["properties"]


def test_same_keys() -> None:
    assert set(PROPERTIES) == set(ALL_KEYS)
    assert ENTRY["required"] == ["func"]
    assert ENTRY["additionalProperties"] is False


@pytest.mark.parametrize("key", sorted(PROPERTIES))
def test_every_key_is_described(key: str) -> None:
    assert len(PROPERTIES[key]["description"]) > 20


def types(key: str) -> set[str]:
    said = PROPERTIES[key]
    return {alternative["type"] for alternative in said.get("oneOf", [said])}


NODES = {
    "boolean": ScalarNode("True", True, 0, 4),
    "array": SequenceNode([], 0, 4),
    "object": MappingNode({}, 0, 4),
}


# Any word is a text, so a boolean says nothing of the keys that have texts.
READ = [(key, kind) for key in KEYS for kind in NODES if not (kind == "boolean" and "string" in types(key))]


@pytest.mark.parametrize("key, kind", READ)
def test_same_types(key: str, kind: str) -> None:
    """An empty list or mapping is read exactly where the schema allows one; so is True where it allows a boolean."""
    try:
        KEYS[key](NODES[kind], Source("x", "True"))
        is_read = True
    except SchemaError as error:
        is_read = False
        assert error.code == "wrong-type"
    assert is_read == (kind in types(key))


def test_same_choices() -> None:
    source = Source("x", "?")
    for choice in PROPERTIES["device_check"]["enum"]:
        assert KEYS["device_check"](ScalarNode(choice, True, 0, 1), source) == choice
