"""Text that is no schema: what is said, where, and what would be right."""

from __future__ import annotations

import pickle

import pytest

from opwright_codegen.errors import Errors, SchemaError, SchemaErrors, nearest
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Span


def fail(text: str, span: Span | None = None) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        FunctionSchema.parse(text, span)
    return caught.value


SYNTAX = [
    ("", 1, "expected an operator name, found the end", "a schema is written NAME(ARGUMENTS) -> RESULTS, as in:"),
    ("f", 2, "expected '(', found the end", "only the operator name was given"),
    ("f.() -> ()", 2, "expected '(', found '.'", "an overload name is one word"),
    ("f.1() -> ()", 2, "expected '(', found '.1'", "an overload name is one word"),
    ("f.a.b() -> ()", 4, "expected '(', found '.'", "an overload name is one word"),
    ("f-g() -> ()", 2, "expected '(', found '-'", "an operator name is made of letters"),
    ("9f() -> ()", 1, "expected an operator name, found '9'", "an operator name is made of letters"),
    ("a:f() -> ()", 2, "expected '(', found ':'", "write NAMESPACE::NAME, in letters, digits and underscores"),
    (
        "::f() -> ()",
        1,
        "expected an operator name, found ':'",
        "write NAMESPACE::NAME, in letters, digits and underscores",
    ),
    ("f()", 4, "expected '->', found the end", "after the arguments write '-> TYPE'"),
    ("f() Tensor", 5, "expected '->', found 'Tensor'", "after the arguments write '-> TYPE'"),
    ("f(Tensor) -> ()", 9, "expected a name, found ')'", "an argument is written TYPE NAME"),
    ("f(Tensor 9) -> ()", 10, "expected a name, found '9'", "an argument is written TYPE NAME"),
    ("f(Tensor é) -> ()", 10, "expected a name, found 'é'", "an argument is written TYPE NAME"),
    ("f(int x,) -> ()", 9, "expected an argument, '*' or '...', found ')'", "leave out the comma after the last one"),
    ("f() -> (Tensor,)", 16, "expected a type or '...', found ')'", "leave out the comma after the last one"),
    ("f(..., int x) -> ()", 6, "expected ')', found ','", "'...' comes last"),
    ("f(List[int] x) -> ()", 7, "expected a name, found '['", "List[int] is written int[]"),
    ("f(int|str x) -> ()", 6, "expected a name, found '|'", "int|str is written Union(int, str)"),
    ("f(Tensor(!) x) -> ()", 10, "expected a name or '*', found '!'", "alias annotations are written (a), (a!)"),
    ("f(Tensor() x) -> ()", 10, "expected a name or '*', found ')'", "alias annotations are written (a), (a!)"),
    ("f(int x=+1) -> ()", 9, "expected a default value, found '+'", "defaults are numbers"),
    (
        "f(int x=0x10) -> ()",
        9,
        "expected a default value, found '0x10'",
        "write 16: of an int written so, PyTorch reads 0",
    ),
    ("f(int[] x=[1, -0X2FfF]) -> ()", 15, "expected a default value, found '-0X2FfF'", "write -12287: of an int"),
    ("f(int x=0x) -> ()", 9, "expected a default value, found '0'", "defaults are numbers"),
    ("f(Tensor?! x) -> ()", 10, "expected '(', '?', '[]' or the end, found '!'", "all of them before '?'"),
    ("f(Tensor!! x) -> ()", 10, "expected a name, found '!'", "alias annotations are written (a), (a!)"),
    ("f(Tensor(a!)! x) -> ()", 13, "expected a name, found '!'", "alias annotations are written (a), (a!)"),
    ("f(int[] x=[1,]) -> ()", 14, "expected a default value, found ']'", "defaults are numbers"),
    ("f(int[] x=(1, 2)) -> ()", 11, "expected a default value, found '('", "defaults are numbers"),
    ('f(str s="a) -> ()', 9, "expected a default value, found '\"'", "a string is in quotes that match"),
    ('f(str s="a\nb") -> ()', 9, "expected a default value, found '\"'", "a string is in quotes that match"),
    ("f(int x) -> (Tensor y=1)", 22, "expected ')' or ',', found '='", "results have no default values"),
    ("f() -> (*)", 9, "expected a type, '...' or ')', found '*'", "'*' belongs among the arguments"),
    ("f() -> Tensor)", 14, "expected the end, found ')'", "nothing follows the results"),
    ("f() -> (Tensor, int)[]", 21, "expected the end, found '[]'", "a list of tuples as the result is written"),
    ("f(int x", 8, "expected ')' or ',', found the end", "the arguments are in parentheses that match"),
    ("f() -> (int", 12, "expected ')' or ',', found the end", "the results are in parentheses that match"),
    ("\0", 1, "expected an operator name, found '\\x00'", None),
]


@pytest.mark.parametrize(("text", "column", "message", "hint"), SYNTAX)
def test_syntax_errors(text: str, column: int, message: str, hint: str | None) -> None:
    error = fail(text)
    assert error.span is not None
    assert (error.code, error.span.line, error.span.column) == ("schema-syntax", 1, column)
    assert error.message == message
    if hint is not None:
        assert error.hint is not None
        assert hint in error.hint


OTHERS = [
    ("f(int x=9223372036854775808) -> ()", "default-value", 9, "'x': 9223372036854775808 is out of a 64-bit integer's"),
    ("f(int x=-9223372036854775809) -> ()", "default-value", 9, "is out of a 64-bit integer's range"),
    ("f(int[2] x=[0, 9223372036854775808]) -> ()", "default-value", 12, "is out of a 64-bit integer's range"),
    ("f(float x=1e400) -> ()", "default-value", 11, "'x': 1e400 is out of a float's range"),
    ("f(complex x=1e400j) -> ()", "default-value", 13, "out of a complex number's range"),
    ("f(bool x=true) -> ()", "default-value", 10, "'x': 'true' is no value of bool; write True"),
    ("f(bool[2] x=[True, false]) -> ()", "default-value", 13, "'false' is no value of bool; write False"),
    ("f(float x=Mean) -> ()", "default-value", 11, "'Mean' is no value of float"),
    ("f(int x=cuda:0) -> ()", "default-value", 9, "'cuda:0' is a device, which int is not"),
    ('f(str s="\\q") -> ()', "default-value", 9, "'\\q' is no escape sequence"),
    ('f(str s="\\U00110000") -> ()', "default-value", 9, "is no character"),
    ("f(int[5000] x=1) -> ()", "default-value", 15, "one value cannot stand for 5,000"),
    ("f(int x, *, int y, *, int z) -> ()", "second-star", 20, "the keyword-only marker '*' may occur once"),
    ("f(int n, Tensor(a|b!) x) -> ()", "schema-syntax", 10, "alias set larger than 1 is not mutable, got a|b!"),
    ("f() -> (int, Tensor(a|b -> c|d))", "schema-syntax", 14, "alias sets before and after cannot both be larger"),
    ("f((Tensor(a), int) x) -> ()", "schema-syntax", 3, "an alias annotation inside a type says nothing"),
    ("f(int[2147483648] x) -> ()", "schema-syntax", 3, "a list size is at most 2,147,483,647"),
    ("f(int" + "[]" * 50 + " x) -> ()", "schema-syntax", 3, "types nest deeper than 32"),
    ("f(" + "(" * 50 + "int" + ")" * 50 + " x) -> ()", "schema-syntax", 3, "types nest deeper than 32"),
    ("f(" + "int x, " * 10_000 + "int y) -> ()", "schema-too-long", 1, "the schema has more than 20,000 characters"),
]


@pytest.mark.parametrize(("text", "code", "column", "message"), OTHERS)
def test_other_errors(text: str, code: str, column: int, message: str) -> None:
    error = fail(text)
    assert error.span is not None
    assert (error.code, error.span.line, error.span.column) == (code, 1, column)
    assert message in error.message


def test_an_error_shows_the_line_of_the_file() -> None:
    source = Source("ops.yaml", "# ours\n- func: f(int x=true) -> ()\n")
    span = source.whole().sub(15, 33)
    assert span.text == "f(int x=true) -> ()"[:18]
    source = Source("ops.yaml", "# ours\n- func: f(bool x=true) -> ()\n  variants: function\n")
    span = source.whole().sub(15, 15 + len("f(bool x=true) -> ()"))
    assert str(fail("f(bool x=true) -> ()", span)) == (
        "ops.yaml:2:18: error: default of argument 'x': 'true' is no value of bool; write True [default-value]\n"
        "    - func: f(bool x=true) -> ()\n"
        "                     ^^^^"
    )


def test_text_that_is_not_in_the_file_as_it_is_shows_the_whole_scalar() -> None:
    source = Source("ops.yaml", 'func: "f(int\n  x) - ()"\n')
    error = fail("f(int x) - ()", Span(source, 6, 25))
    assert error.span == Span(source, 6, 25)
    assert str(error).startswith("ops.yaml:1:7: error: expected '->', found '-'")


@pytest.mark.parametrize(
    ("text", "start", "end", "caret"),
    [
        ("a\tb", 2, 3, "a    b\n     ^"),
        ("one\r\ntwo\rthree", 5, 8, "two\n^^^"),
        ("one\r\ntwo\rthree", 9, 11, "three\n^^"),
        ("世界 x", 3, 4, "世界 x\n     ^"),
        ("a\0b", 2, 3, "a\ufffdb\n  ^"),
        ("\x1b[31mx", 5, 6, "\ufffd[31mx\n     ^"),
        ("ab", 2, 2, "ab\n  ^"),
        ("", 0, 0, "\n^"),
        ("ab\ncd", 1, 5, "ab\n ^"),
    ],
)
def test_carets(text: str, start: int, end: int, caret: str) -> None:
    assert Span(Source("x", text), start, end).caret() == caret


def test_long_lines_are_windowed() -> None:
    shown, caret = Span(Source("x", "a" * 1000 + "!" + "b" * 1000), 1000, 1001).caret().split("\n")
    assert shown[caret.index("^")] == "!"
    assert shown.startswith("... a")
    assert shown.endswith("b ...")
    assert len(shown) < 120


def test_paths_are_shown_relative_to_the_working_directory(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert Source(f"{tmp_path}/sub/ops.yaml", "").shown_path() == "sub/ops.yaml"
    assert Source("/elsewhere/ops.yaml", "").shown_path() == "/elsewhere/ops.yaml"
    assert str(Span(Source("ops.yaml", "a\nbc"), 3, 4)) == "ops.yaml:2:2"


def test_errors_are_collected() -> None:
    errors = Errors()
    errors.raise_if_any()
    errors.add(SchemaError("one", "first", None, "do this"))
    errors.add(SchemaErrors((SchemaError("two", "second"), SchemaError("three", "third"))))
    with pytest.raises(SchemaErrors) as caught:
        errors.raise_if_any()
    assert [error.code for error in caught.value.errors] == ["one", "two", "three"]
    assert str(caught.value) == (
        "error: first [one]\nhint: do this\n\nerror: second [two]\n\nerror: third [three]\n\n3 errors"
    )


def test_errors_survive_pickling() -> None:
    # One that was never raised: Dask has tracebacks and causes pickled, too, whose frames hold modules.
    error = SchemaError(*fail("f(").args)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    group = SchemaErrors((error,))
    assert str(pickle.loads(pickle.dumps(group))) == str(group)


def test_nearest() -> None:
    assert nearest("Tensr", ["Tensor", "int"]) == "Tensor"
    assert nearest("TENSOR", ["tensors", "Tensor"]) == "Tensor"
    assert nearest("xyzzy", ["Tensor", "int"]) is None
    assert nearest("x" * 10**6, ["Tensor"]) is None
