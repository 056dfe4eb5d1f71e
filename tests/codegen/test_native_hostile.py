"""Hostile text in every field of a schema that has a C kernel: the C is refused, or has not one token more.

The places are found in the model: every key that an entry may have, every text in a parsed `func`, the file's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sweeps

from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.output.render import render
from opwright_codegen.read.entry_keys import KEYS as ENTRY_KEYS
from opwright_codegen.records import as_dict
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source

pytestmark = pytest.mark.once  # text in, text out

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "*/ int evil; /*", "a */\nint evil;\n/* b", "*\\\n/ int evil; /*", "*??/\n/ int evil; /*", "\\", "??/", "x\\",
    '"; int evil; "', '\\"; int evil; //', "'; int evil; '", "//\\\nint evil;", "\n#define int evil\n", "\r\nint evil;",
    "\u2028int evil;", "\u202e/* evil", "%s%n", "/* int evil;", "*/*/", "/", "*", "\x00*/",
]  # fmt: skip
WRITES = (
    'spaced::based_.overed(Tensor(a!) selfed, Tensor? othered, *, Scalar alphaed=1.25, str moded="texted", '
    "int[2] sized=[7, 8]) -> Tensor(a!)"
)
MAKES = 'spaced::based.overed(Tensor selfed, bool? alphaed=None, str moded="texted") -> (Tensor meaned, Tensor varied)'
KEYS: dict[str, Any] = {
    "dispatch": {"CPU": "native:kerneled"}, "convention": "strided", "dtypes": "float32, int64", "doc": "What it does.",
}  # fmt: skip
ENTRIES = {"writes": {"func": WRITES, **KEYS}, "makes": {"func": MAKES, "meta": "like(selfed), like(selfed)", **KEYS}}


def texts(value: Any) -> Iterator[str]:
    """Yield the texts in the model of a schema, the schema's own aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from texts(item)
    else:
        for name, item in as_dict(value).items():
            if not (isinstance(value, FunctionSchema) and name == "text"):
                yield from texts(item)


def made(entry: dict[str, Any], path: str = "ops.yaml") -> list[str] | None:
    """Return the tokens of the C that an entry gives, None where it is refused."""
    inputs = Inputs(ROOT, (), namespace="aten", rules=("opwright.rules",))
    try:
        (declared,) = declare(inputs, [Source(path, json.dumps([entry]))]).values()
        found = render(declared, only=["native"])
    except (SchemaError, SchemaErrors):
        return None
    return [token for name, text in sorted(found.items()) if name.endswith((".h", ".c")) for token in tokens(text)]


TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~", strict=True))
PIECES = re.compile(r"/\*.*?\*/|//[^\n]*|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(\w+|\n#|\S)", re.DOTALL)


def tokens(text: str) -> list[str]:
    """Return the tokens of C, by the phases of translation; all literals are one."""
    text = re.sub(r"\?\?([=/'()!<>-])", lambda found: TRIGRAPHS[found[1]], text)
    text = re.sub(r"\\[ \t\v\f]*\n", "", text)
    return ["literal" if found[1] else found[2] for found in PIECES.finditer(text) if found[1] or found[2]]


def test_tokens_are_those_of_c() -> None:
    assert tokens('a/*"*/b "c*/" //\\\nd\n??/\ne') == ["a", "b", "literal", "e"]
    assert all(made(entry) for entry in ENTRIES.values())


def names(found: list[str]) -> list[str]:
    """Return the tokens with what the schema may name left out: words that no word of C begins with."""
    return [token for token in found if not re.fullmatch(r"\w*(?:ed|NATIVE|int)_?\w*", token)]


@pytest.mark.parametrize("kind", ENTRIES)
def test_no_text_of_a_func_is_more_than_text(kind: str) -> None:
    """Names that are hostile are refused; defaults and the like reach comments alone."""
    entry = ENTRIES[kind]
    plain = made(entry)
    spots = sorted({text for text in texts(FunctionSchema.parse(entry["func"])) if text and text in entry["func"]})
    assert {"spaced", "selfed", "texted", "Tensor"} <= set(spots)
    for spot in spots:
        for text in HOSTILE:
            for shown in (text, json.dumps(text)[1:-1]):
                found = made({**entry, "func": entry["func"].replace(spot, shown, 1)})
                assert found is None or names(found) == names(plain or []), (spot, shown)
                assert found is None or "evil" not in found, (spot, shown)


@pytest.mark.parametrize("key", [key for key in ENTRY_KEYS if key != "func"])
def test_no_text_of_a_key_is_more_than_text(key: str) -> None:
    for entry in ENTRIES.values():
        plain = made(entry)
        for text in HOSTILE:
            values: list[Any] = [text, [text], {text: text}, {"CPU": text}, {"CPU": f"native:{text}"}, f"native:{text}"]
            for value in sweeps.share(values, 2, f"{key} {text}"):  # each form of most texts, with --slow of all
                found = made({**entry, key: value})
                assert found is None or "evil" not in found, (key, value)
                if key not in ("dispatch", "convention", "dtypes", "meta"):
                    assert found is None or found == plain, (key, value)


@pytest.mark.parametrize("text", [*HOSTILE, "*/int evil;/*.yaml", "a*/evil.yaml"])
def test_no_file_name_is_more_than_text(text: str) -> None:
    for entry in ENTRIES.values():
        assert made(entry, text) == made(entry)


def test_a_doc_may_hold_anything_that_shows() -> None:
    for entry in ENTRIES.values():
        found = made({**entry, "doc": " ".join(text for text in HOSTILE if text.isprintable())})
        assert found is not None and found == made(entry)
