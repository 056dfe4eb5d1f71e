"""Laws of schema text and model: the round trip, and that no text makes anything but a schema or a SchemaError."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import annotations, schemas

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.model import Default, FunctionSchema
from opwright_codegen.schema.rules import check_types, schema_problems
from opwright_codegen.schema.spans import locate
from opwright_codegen.schema.types import Annotation
from opwright_codegen.source import Source

pytestmark = pytest.mark.once  # text in, text out

VALID = [
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    'ns::f(Tensor(a -> *)? x, int[2] s=[0, -1], str m="a,b)c", *, float e=1e-05) -> (Tensor(a) y, Tensor[] z)',
    "f((str, t)[] d, Dict(str, t[])(a!) e, Device d2=cuda:0, complex c=0.+1.j, ...) -> ((t, int)[], ...)",
    "f(Tensor! x, Tensor!? y=None, int!? n=1, *, Tensor![] out, Tensor[]!? z) -> (Tensor!, int)",
    "f(bool[3] mask=[True, False, True], int[] d=[], ScalarType? t=None, int r=Mean) -> ()",
]


@given(schemas())
def test_a_schema_printed_and_parsed_is_the_same(schema: FunctionSchema) -> None:
    text = str(schema)
    parsed = FunctionSchema.parse(text)
    assert parsed == schema
    assert hash(parsed) == hash(schema)
    assert str(parsed) == text


@given(schemas(), st.randoms(use_true_random=False))
def test_spacing_means_nothing(schema: FunctionSchema, random: object) -> None:
    """Spaces may stand around every sign outside of strings and operator names."""
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', str(schema))
    head, bracket, pieces[0] = pieces[0].partition("(")
    ragged = ""
    for i, piece in enumerate([bracket + pieces[0], *pieces[1:]]):
        ragged += piece if i % 2 else re.sub(r" ?([()\[\],=!|*]|->) ?", lambda m: _ragged(m[1], random), piece)
    assert str(FunctionSchema.parse(f" {head}{ragged}\n")) == str(schema)


def _ragged(sign: str, random: object) -> str:
    before, after = (random.choice(["", " ", "  ", "\t", "\n "]) for _ in range(2))  # type: ignore[attr-defined]
    return f"{before}{sign}{after}"


@given(schemas())
def test_where_each_part_stands(schema: FunctionSchema) -> None:
    text = str(schema)
    source = Source("ops.yaml", f"- func: {text}\n")
    spans = locate(text, source.whole().sub(8, 8 + len(text)))
    assert spans.whole.text == text
    assert spans.name.text == str(schema.name)
    assert [a.whole.text for a in spans.arguments] == [str(a) for a in schema.arguments]
    assert [a.name.text for a in spans.arguments] == [a.name for a in schema.arguments]
    assert [a.default and a.default.text for a in spans.arguments] == [
        a.default and a.default.text for a in schema.arguments
    ]
    assert [r.whole.text for r in spans.returns] == [str(r) for r in schema.returns]


@given(annotations())
def test_an_annotation_printed_and_parsed_is_the_same(annotation: Annotation) -> None:
    if "*" in annotation.before:
        with pytest.raises(ValueError, match="unrecognized alias annotation"):
            Annotation.parse(str(annotation))
    else:
        assert Annotation.parse(str(annotation)) == annotation


@given(schemas())
def test_rules_and_variants_take_any_schema(schema: FunctionSchema) -> None:
    for error in schema_problems(FunctionSchema.parse(str(schema))):
        assert error.span is not None
        assert error.span.text in str(schema)
    assert not schema.functional_signature().mutated_arguments
    assert schema.signature() == schema.signature().signature()


def _reads_or_says_why(text: str) -> None:
    try:
        schema = FunctionSchema.parse(text)
    except SchemaError as error:
        assert error.span is not None
        assert 0 <= error.span.start <= error.span.end <= max(1, len(text))
        assert str(error)
    else:
        assert FunctionSchema.parse(str(schema)) == schema


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VALID), st.data())
def test_a_mutated_schema_is_a_schema_or_an_error(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = start + data.draw(st.integers(0, 4))
        signs = st.text(st.sampled_from("()[]?!*|=,.:-> \t\n\"'\\aT10e+_j\0\ud800é"), max_size=3)
        text = text[:start] + data.draw(signs) + text[stop:]
    _reads_or_says_why(text)


@settings(deadline=None)
@given(st.text(st.characters(codec=None, categories=None)))
@example("")
@example("\0")
@example("f(int x=\u0661) -> ()")
@example("f(int x=" + "9" * 5000 + ") -> ()")
@example("f(float x=" + "9" * 5000 + ") -> ()")
@example("f(int[" + "9" * 5000 + "] x) -> ()")
@example("f(int" + "[]" * 5_000 + " x) -> ()")
@example("f(int" + "?" * 5_000 + " x) -> ()")
@example("f(" + "(" * 5_000 + ")" * 10_000 + " x) -> ()")
@example("f(" + "Dict(int, " * 5_000 + "int" + ")" * 10_000 + " x) -> ()")
@example("f(int[] x=" + "[" * 5_000 + "]" * 10_000 + ") -> ()")
@example("f(int[2147483647] x=1) -> ()")
@example("f(" + "Tensor (" * 5_000)
@example("f() -> ()" + " " * 200_000)
@example("\n" * 200_000)
def test_any_text_is_a_schema_or_an_error(text: str) -> None:
    _reads_or_says_why(text)


@given(schemas())
def test_types_are_known_or_an_error(schema: FunctionSchema) -> None:
    try:
        check_types(schema)
    except SchemaError as error:
        assert error.code in ("unknown-type", "type-arguments")


@given(st.floats() | st.complex_numbers() | st.booleans() | st.integers() | st.text(max_size=5))
def test_a_default_is_equal_to_what_it_prints_as_alone(value: object) -> None:
    default = Default(value)  # type: ignore[arg-type]
    assert default == Default(value)  # type: ignore[arg-type] # nan included
    others = [Default(other) for other in (1, 1.0, True, 1 + 0j, "1", 0.0, -0.0, None)]  # type: ignore[arg-type]
    assert sum(default == other for other in others) <= 1
