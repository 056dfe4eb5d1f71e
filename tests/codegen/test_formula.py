"""The formula language: text to formula to Python text, and what is said of a text that is none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from formula_samples import formulas, python_tree, text_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Constant,
    Formula,
    Kind,
    Name,
    Reference,
    Unary,
    Verbatim,
    walk,
)
from opwright_codegen.formula.emit import emit, with_out
from opwright_codegen.formula.parser import MAX_DEPTH, MAX_LENGTH, parse
from opwright_codegen.source import Source, Span, Text

PLAIN = [
    "xp.add(self, other if alpha == 1 else xp.multiply(other, alpha))",
    "x[1 : n + 1, ..., None]",
    "x[::2]",
    "x[1:, :n]",
    "x[1:2,]",
    "x[(a,)]",
    "x[a + 1 :: 2]",
    "(a, b)",
    "(a,)",
    "()",
    "[a, b]",
    "-(x**2)",
    "x**-1",
    "(-x) ** 2",
    "2 ** f(x)",
    "not a in b",
    "not (a and b)",
    "a is not None",
    "(a if b else c) if d else e",
    "a if b else c if d else e",
    "(a + b) * c",
    "a + (b + c)",
    "a < b <= c",
    "(a < b) < c",
    "(1).real",
    "f(a, axis=1)",
    'f("it\'s")',
    "f('say \"so\"')",
    "1e308",
    "0.5j",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_comes_back_as_it_is(text: str) -> None:
    assert emit(parse(text_of(text))) == text


@pytest.mark.parametrize(
    ("text", "emitted"),
    [
        ("a,b", "(a, b)"),
        ("(((a)))", "a"),
        ("[a,b,]", "[a, b]"),
        ("f(a,\n  b)", "f(a, b)"),
        (".5+1.", "0.5 + 1.0"),
        ("0x10", "16"),
        ("'a'", '"a"'),
        ("1 .real", "(1).real"),
        ("random(from_)", "random(from_)"),
        ("from + 1", "from_ + 1"),
    ],
)
def test_text_is_written_anew(text: str, emitted: str) -> None:
    assert emit(parse(text_of(text))) == emitted


@given(formulas())
@example(Unary("-", Binary("**", Name("x"), Name("y"))))
@example(Constant("\\'\"\n\0\ud800\u2028é"))
def test_python_reads_what_was_meant(formula: Formula) -> None:
    text = emit(formula)
    assert ast.dump(ast.parse(text, mode="eval").body) == ast.dump(python_tree(formula))
    assert parse(text_of(text)) == formula


@settings(max_examples=25)
@given(st.lists(formulas().map(emit), min_size=1, max_size=10))
def test_ruff_would_write_it_the_same(texts: list[str]) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    source = "".join(f"_ = {text}\n" for text in texts)
    command = [ruff, "format", "--isolated", "--line-length=320", "--stdin-filename=x.py", "-"]
    run = subprocess.run(command, input=source.encode(), capture_output=True, check=True)
    assert run.stdout.decode() == source


ESCAPES = "known escapes: \\\\ \\' \\\" \\n \\t \\r \\xHH \\uHHHH \\UHHHHHHHH"

# The characters that are wrong stand in « ».
BAD = [
    ("a &«&» b", "unexpected '&'", "write: and"),
    ("a |«|» b", "unexpected '|'", "write: or"),
    ("«!»a", "unexpected '!'", "write: not"),
    ("a «?» b : c", "unexpected '?'", "write: a if condition else b"),
    (
        "own.module«:»rule(a)",
        "unexpected ':'",
        "a function given by path stands alone, and gets every argument: package.module:name; to call it with other "
        'arguments, name its module in [tool.opwright], rules = ["package.module"], and write name(…)',
    ),
    ("at«:»:add(a)", "unexpected ':'", "operators and functions are named without their namespace: name(…)"),
    ("a-«>»b", "unexpected '>'", "write: a.b"),
    ("a «=» 1", "unexpected '='", "to compare values write =="),
    ("(a «:»= 1)", "unexpected ':'", "formulas bind no names; write the value where it is used"),
    ("lambda «x»: x", "unexpected 'x'", "formulas have no lambda"),
    (
        "[x «for» x in y]",
        "unexpected 'for'",
        "formulas have no comprehensions; put the loop into a function and name that",
    ),
    ("f(«*»a)", "unexpected '*'", "arguments and items are written out: there is no unpacking"),
    ("f(«**»a)", "unexpected '**'", "arguments and items are written out: there is no unpacking"),
    ("f«'a'»", "unexpected", "texts have no prefix"),
    ("'a' «'b'»", "unexpected", "write one text, not several side by side"),
    ("f(«'»abc)", "unexpected", "a text ends with the quote it begins with, in the same line"),
    ("«{»a}", "unexpected '{'", "formulas have tuples and lists, no sets or mappings"),
    ("a«;» b", "unexpected ';'", "a formula is one expression"),
    ("«1»x", "unexpected '1'", "a name begins with a letter; numbers have no suffix but j"),
    ("«é»", "unexpected 'é'", "names are of ASCII letters, digits and _"),
    ("f(a, «[»b", "'[' is never closed", "add ']'"),
    ("f(a«]»", "unexpected ']'", None),
    ("a if b«»", "the formula ends too early", None),
    ("a.«__class__»", "'__class__' is not a public attribute", None),
    ("a.«_base»", "'_base' is not a public attribute", None),
    ("a.«from»", "'from' is a Python keyword", "write from_"),
    ("«__import__»('os')", "'__import__' is a name of Python's own", None),
    ("f(x=1, «x»=2)", "the argument 'x' is given twice", None),
    ("f(x=1, «b»)", "an argument without a name follows one with a name", None),
    ("a is «1»", "'is' compares with None alone", "to compare values write =="),
    ("«012»", "a number does not begin with 0", None),
    ("«1e999»", "the number is greater than any float", "write inf for infinity"),
    ("«" + "9" * 5000 + "»", "the integer has more than 64 bits", None),
    ("«'\\q'»", "unknown escape '\\q' in a text", ESCAPES),
]


@pytest.mark.parametrize(("marked", "message", "hint"), BAD, ids=[bad[0][:20] for bad in BAD])
def test_malformed_text_is_refused_where_it_is_wrong(marked: str, message: str, hint: str | None) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(SchemaError) as caught:
        parse(text_of(marked.replace("«", "").replace("»", ""), before="- meta: "))
    error = caught.value
    assert error.message.startswith(message)
    assert error.hint == hint
    assert error.span is not None
    assert (error.span.line, error.span.column) == (1, len("- meta: ") + 1 + start)
    assert error.span.end - error.span.start == end - start


@pytest.mark.parametrize("opening", ["(", "[", "f(", "-", "not ", "x[", "a.b", "a + ", "a ** ", "a if b else "])
def test_deep_nesting_is_an_error_and_no_recursion(opening: str) -> None:
    text = opening * (MAX_LENGTH // len(opening) - 1) + "x"
    with pytest.raises(SchemaError):
        parse(text_of(text))


def test_limits() -> None:
    with pytest.raises(SchemaError, match="more than 100 levels"):
        parse(text_of("-" * MAX_DEPTH + "x"))
    assert emit(parse(text_of("-" * (MAX_DEPTH - 1) + "x"))) == "-" * (MAX_DEPTH - 1) + "x"
    assert parse(text_of("(" * 2000 + "x" + ")" * 2000)) == Name("x")
    with pytest.raises(SchemaError, match="more than 10,000 characters"):
        parse(text_of("x" * (MAX_LENGTH + 1)))


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([*"()[].,:'\"=+-*/%@<>!&|~ab1\\\n", "if ", " else ", "not "])).map("".join)
)
def test_any_text_is_a_formula_or_a_schema_error(text: str) -> None:
    try:
        formula = parse(text_of(text))
    except SchemaError as error:
        assert str(error).startswith("ops.yaml:")
    else:
        ast.parse(emit(formula), mode="eval")


@given(formulas().map(emit), st.data())
def test_a_changed_formula_is_one_or_a_schema_error(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    new = data.draw(st.sampled_from(["", "(", ")", "]", ",", "=", ":", "'", "if", ".", "*", "\0", "__x__"]))
    test_any_text_is_a_formula_or_a_schema_error.hypothesis.inner_test(text[:at] + new + text[at + 1 :])


def test_every_part_knows_where_it_stands() -> None:
    text = text_of("f( a + (b) , [c][0:1], k = not d.shape)")
    spans = {node.span.text for node in walk(parse(text)) if node.span}
    whole = "f( a + (b) , [c][0:1], k = not d.shape)"
    assert spans == {
        whole,
        "f",
        "a + (b)",
        "a",
        "(b)",
        "[c][0:1]",
        "[c]",
        "c",
        "0:1",
        "0",
        "1",
        "not d.shape",
        "d.shape",
        "d",
    }


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("'f(\"a\", ''b'', ?)'", "f(\"a\", 'b', ?)"),
        ('"f(\\"a\\", ?)"', 'f("a", ?)'),
        ("f(a,\n      b, ?)", "f(a, b, ?)"),
        (">\n    f(a,\n    ?)", "f(a, ?)"),
        ("|\n    f(a,\n      ?)", "f(a,\n  ?)"),
    ],
)
def test_positions_in_quoted_and_folded_text(written: str, text: str) -> None:
    source = Source("ops.yaml", f"- meta: {written}\n")
    with pytest.raises(SchemaError) as caught:
        parse(Text(text, Span(source, 8, 8 + len(written))))
    assert caught.value.span is not None
    assert caught.value.span.start == source.text.index("?")


XP = Reference(Kind.MODULE, "xp")


def call(name: str, *arguments: str) -> Formula:
    return Call(Attribute(XP, name), tuple(map(Name, arguments)))


@pytest.mark.parametrize("positional", [False, True])
def test_ufuncs_write_into_out(positional: bool) -> None:
    written = with_out(call("add", "a", "b"), "plan.out(target)", positional=positional)
    assert written is not None
    assert emit(written) == f"xp.add(a, b, {'' if positional else 'out='}plan.out(target))"


@pytest.mark.parametrize("ufunc", ["maximum", "minimum"])
def test_out_is_a_keyword_where_numpy_wants_it(ufunc: str) -> None:
    written = with_out(call(ufunc, "a", "b"), "a", positional=True)
    assert written is not None
    assert emit(written) == f"xp.{ufunc}(a, b, out=a)"


def test_generated_paths_need_no_parentheses() -> None:
    assert emit(Call(Verbatim("plan.lay_out"), (Verbatim("a if b else c"),))) == "plan.lay_out(a if b else c)"
    assert emit(Attribute(Verbatim("a if b else c"), "shape")) == "(a if b else c).shape"


OTHERS = [
    call("where", "a", "b", "c"),
    call("add", "a"),
    Name("add"),
    Call(Name("add"), (Name("a"), Name("b"))),
    Binary("+", Name("a"), Name("b")),
]


@pytest.mark.parametrize("formula", OTHERS, ids=map(emit, OTHERS))
def test_others_do_not(formula: Formula) -> None:
    assert with_out(formula, "out") is None


def test_the_ufunc_table_is_true_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    from opwright_codegen.formula.ufuncs import UFUNCS

    assert {name: getattr(numpy, name).nin for name in UFUNCS} == UFUNCS
    assert {getattr(numpy, name).nout for name in UFUNCS} == {1}


def test_the_grammar_ships_with_the_package() -> None:
    import opwright_codegen

    assert (Path(opwright_codegen.__path__[0]) / "formula" / "formula.lark").is_file()
