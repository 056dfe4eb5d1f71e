"""Where keys and values stand: every span cuts out of the file what it is the span of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, read_entries
from opwright_codegen.errors import Errors, SchemaErrors
from opwright_codegen.read.files import read_text
from opwright_codegen.read.model import Operator
from opwright_codegen.source import Source

TEXT = """\
# é: offsets are characters, not bytes
- func: f(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU, CUDA: xp.sin(self)
    "Meta": 'f_meta'   # why
  tags: [core,
         pointwise]
- {func: g(Tensor self) -> Tensor, tags: core}
"""


def operators(text: str = TEXT) -> list[Operator]:
    return list(read_text(text).operators.values())


def test_spans_of_keys_and_values() -> None:
    f, g = operators()
    assert {key: (name.text, value.text) for key, (name, value) in f.spans.items()} == {
        "func": ("func", "f(Tensor self) -> Tensor"),
        "variants": ("variants", "function, method"),
        "dispatch": ("dispatch", "CPU, CUDA: xp.sin(self)\n    \"Meta\": 'f_meta'"),
        "tags": ("tags", "[core,\n         pointwise]"),
    }
    assert {key: value.text for key, (_, value) in g.spans.items()} == {
        "func": "g(Tensor self) -> Tensor",
        "tags": "core",
    }
    assert len(g.spans) == 2


def test_lines_and_columns() -> None:
    f, g = operators()
    assert [(f.span(key).line, f.span(key).column) for key in f.spans] == [(2, 9), (3, 13), (5, 5), (7, 9)]
    assert (f.location.line, f.location.column) == (2, 3)
    assert (g.location.line, g.location.column) == (9, 4)
    assert f.span("meta") == f.location


def test_spans_of_kernels() -> None:
    (f, _) = operators()
    assert [(key, kernel.span.text, kernel.span.line) for key, kernel in f.dispatch] == [
        ("CPU", "xp.sin(self)", 5),
        ("CUDA", "xp.sin(self)", 5),
        ("Meta", "f_meta", 6),
    ]


def test_the_schema_knows_where_it_stands() -> None:
    (f, g) = operators()
    assert f.schema.span is not None and f.schema.span.text == "f(Tensor self) -> Tensor"
    assert g.schema.span is not None and (g.schema.span.line, g.schema.span.column) == (9, 10)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_spans_under_other_line_ends(newline: str) -> None:
    f, g = operators(TEXT.replace("\n", newline))
    assert f.span("variants").text == "function, method"
    assert (g.location.line, g.location.column) == (9, 4)


# How a schema may be written, and where in it (line, column) the unknown type then is: itself, or the whole text.
WRITTEN = {
    "- func: f(Asdf x) -> Tensor": (1, 11),
    "- func:    f(Asdf x) -> Tensor": (1, 14),
    "- func: 'f(Asdf x) -> Tensor'": (1, 12),
    '- func: "f(Asdf x) -> Tensor"': (1, 12),
    "- func:\n    f(Asdf x) -> Tensor": (2, 7),
    "- func: |\n    f(Asdf x) -> Tensor": (2, 7),
    "- func: >-\n    f(Asdf x) -> Tensor": (2, 7),
    "- func: f(Asdf x)\n    -> Tensor": (1, 9),
    "- func: >\n    f(Asdf x)\n    -> Tensor": (1, 9),
    '- func: "f(Asdf\\x20x) -> Tensor"': (1, 9),
    "- 'func': f(Asdf x) -> Tensor": (1, 13),
    "- {tags: core, func: f(Asdf x) -> Tensor}": (1, 24),
    "# é𝒳\n- func: f(Asdf x) -> Tensor": (2, 11),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_errors_in_a_schema(text: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(text)
    (error,) = caught.value.errors
    assert error.span is not None
    assert (error.code, error.message) == ("unknown-type", "unknown type specifier 'Asdf'")
    assert (error.span.line, error.span.column) == WRITTEN[text]


def scalars(node: Node) -> list[ScalarNode]:
    match node:
        case ScalarNode():
            return [node]
        case SequenceNode(items):
            return [scalar for item in items for scalar in scalars(item)]
        case MappingNode(pairs):
            return [s for key, value in pairs.values() for s in (key, *scalars(value))]


WORDS = st.text(st.sampled_from("abcxyzé\U0001d4b3 "), min_size=1, max_size=8).map(lambda word: f"a{word}b")
ITEMS = st.recursive(
    WORDS.map(lambda word: [word]) | WORDS.map(lambda word: [f"'{word}'"]),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda items: [f"{'- ' if n == 0 else '  '}{line}" for item in items for n, line in enumerate(item)]
    ),
    max_leaves=8,
)


@given(st.lists(ITEMS, min_size=1, max_size=5))
def test_spans_cut_out_the_text(items: list[list[str]]) -> None:
    source = Source(
        "x", "".join(f"{'- ' if n == 0 else '  '}{line}\n" for item in items for n, line in enumerate(item))
    )
    errors = Errors()
    nodes = [scalar for node in read_entries(source, errors) for scalar in scalars(node)]
    assert not errors
    assert nodes
    for node in nodes:
        assert source.text[node.start : node.end] == (node.text if node.plain else f"'{node.text}'")
    written = [line.replace("- ", "").strip().strip("'") for item in items for line in item]
    assert [node.text for node in nodes] == written
