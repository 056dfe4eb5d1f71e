"""The table of keys of schema files: what reads, lays out, checks, changes and describes them goes by it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.about.schema import keys_table
from opwright_codegen.cli import main
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.documents.nodes import read_string
from opwright_codegen.documents.yaml_reader import MappingNode, ScalarNode, SequenceNode
from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.mutants.making import mutants_of
from opwright_codegen.output.canonical import canonical
from opwright_codegen.output.editor_schema import editor_schema
from opwright_codegen.read.entry_keys import KEYS
from opwright_codegen.read.files import read_text
from opwright_codegen.read.key_formats import Form, Key, Mutants, text
from opwright_codegen.read.model import Operator
from opwright_codegen.source import Source

pytestmark = pytest.mark.once  # text in, text out

SAYS = "The colours of the operator, separated by commas."
ENTRY = """\
- func: own::f(Tensor x) -> Tensor
  meta: like(x)
  colours: red,  green
"""


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> Key:
    """A new key: one record. Its value goes into a field that is there."""
    key = Key("colours", read_string, text(), SAYS, "python_module", Form.WORDS, Mutants.LEAVE_OUT)
    monkeypatch.setitem(KEYS, key.name, key)
    return key


def test_a_new_key_is_read(colours: Key) -> None:
    assert read_text(ENTRY).operators["own::f"].python_module == "red,  green"


def test_a_new_key_is_what_misspelt_ones_were_to_be(colours: Key) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(ENTRY.replace("colours", "colors"))
    assert [each.hint for each in caught.value.errors] == ["did you mean 'colours'?"]


def test_a_new_key_has_a_place_and_spaces(colours: Key) -> None:
    first, meta, last = ENTRY.splitlines(keepends=True)
    made = canonical(Source("ops.yaml", first + last + meta))
    assert made == ENTRY.replace("red,  green", "red, green")


def test_editors_know_a_new_key(colours: Key) -> None:
    properties = json.loads(editor_schema())["$defs"]["entry"]["properties"]
    assert properties["colours"] == {"description": SAYS, "type": "string"}


def test_the_table_has_a_new_key(colours: Key) -> None:
    assert f"| `colours` | {SAYS} |" in keys_table()


def test_mutants_treat_a_new_key_as_it_says(colours: Key, tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(ENTRY, encoding="utf-8")
    found = list(mutants_of(declare(Inputs(tmp_path, (path,), namespace="aten"), binds=False).values()))
    assert found and not any("colours" in each.entry for each in found)


def test_the_command_prints_every_key_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "keys"]) == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert head == "| key | value |" and rule == "| --- | --- |"
    printed = [re.fullmatch(r"\| `(\w+)` \| (.+) \|", row) for row in rows]
    assert [each and (each[1], each[2].replace("\\|", "|")) for each in printed] == [
        (key.name, key.says) for key in KEYS.values()
    ]


def test_every_key_has_a_field_and_a_description() -> None:
    fields = Operator.__slots__
    assert [key.name for key in KEYS.values() if (key.field or key.name) not in fields] == []
    assert [name for name, key in KEYS.items() if len(key.says) < 20 or name != key.name] == []


def types(key: str) -> set[str]:
    format: Any = KEYS[key].format
    return {alternative["type"] for alternative in format.get("oneOf", [format])}


NODES = {
    "boolean": ScalarNode("True", True, 0, 4),
    "array": SequenceNode([], 0, 4),
    "object": MappingNode({}, 0, 4),
}
READERS = {name: key.reader for name, key in KEYS.items() if key.reader is not None}
# Any word is a text, so a boolean says nothing of the keys that have texts.
READ = [(key, kind) for key in READERS for kind in NODES if not (kind == "boolean" and "string" in types(key))]


@pytest.mark.parametrize("key, kind", READ)
def test_the_format_allows_the_types_that_are_read(key: str, kind: str) -> None:
    """An empty list or mapping is read exactly if the format allows one, and so is True."""
    try:
        READERS[key](NODES[kind], Source("x", "True"))
        is_read = True
    except SchemaError as error:
        is_read = False
        assert error.code == "wrong-type"
    assert is_read == (kind in types(key))


def test_the_format_allows_the_words_that_are_read() -> None:
    for choice in KEYS["device_check"].format["enum"]:
        assert READERS["device_check"](ScalarNode(choice, True, 0, 1), Source("x", "?")) == choice
