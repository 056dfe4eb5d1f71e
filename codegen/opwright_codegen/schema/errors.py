"""The errors of a text that is no schema: why it is none, and where."""

from __future__ import annotations

import re
from functools import cache

from lark import Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.annotation_hints import annotation_hint
from opwright_codegen.schema.parser import MAX_LENGTH, parse_parts
from opwright_codegen.schema.spans import Place, extent, locate, precise_parser
from opwright_codegen.source import Span

__all__ = ["explain"]


def explain(text: str, span: Span | None, error: ValueError) -> SchemaError:
    """Return the error to show for a text that `FunctionSchema.parse` could not read, `error` being what stopped it."""
    place = Place(text, span)
    if len(text) > MAX_LENGTH:
        return SchemaError("schema-too-long", str(error), place(0, 1))
    wrong = _first_wrong(text, "schema", 0)
    if wrong is not None:
        message, start, end, hint = wrong
        return SchemaError("schema-syntax", message, place(start, end), annotation_hint(text) or hint)
    spans = locate(text, span)
    if len(error.args) == 2:  # an argument's default, and why it is none
        name, why = error.args
        where = next((a.default for a in spans.arguments if a.name.text == name and a.default), spans.whole)
        return SchemaError("default-value", f"default of argument '{name}': {why}", where)
    if len(spans.stars) > 1:
        return SchemaError("second-star", str(error), spans.stars[1], "arguments after the one '*' are keyword-only")
    alone = [(f"f({a.whole.text}) -> ()", a.type) for a in spans.arguments]
    alone += [(f"f() -> ({r.whole.text})", r.type) for r in spans.returns]
    at = next((type for schema, type in alone if not _reads(schema)), spans.whole)
    return SchemaError("schema-syntax", str(error), at)


def _reads(text: str) -> bool:
    try:
        parse_parts(text)
    except ValueError:
        return False
    return True


_Wrong = tuple[str, int, int, str | None]


def _first_wrong(text: str, rule: str, shift: int) -> _Wrong | None:
    """Return message, start, end and hint of the first position where the text departs from the rule, in tokens too."""
    try:
        tree = precise_parser().parse(text, start=rule)
    except UnexpectedInput as error:
        return _describe(text, rule, shift, error)
    inside = {"ARGUMENT": "argument", "RESULT": "result", "FLAT": "flat_type"}
    pending: list[Token | Tree[Token]] = [tree]
    while pending:  # not by recursion: the text may nest as deep as it likes
        node = pending.pop()
        if isinstance(node, Tree):
            pending += reversed(node.children)
        elif node.type in inside:
            wrong = _first_wrong(str(node), inside[node.type], shift + extent(node)[0])
            if wrong is not None:
                return wrong
    return None


_ALIAS_HINT = "alias annotations are written (a), (a!), (a -> *), (a! -> a|b), (a|b), (*) or !, all of them before '?'"

_HEXADECIMAL = re.compile(r"-?0[xX][0-9a-fA-F]{1,16}(?![0-9A-Za-z_.])")

# What a terminal is called in a message. Those left out are ways to begin or to end another one that is named.
_WORDS = {
    "OPERATOR": "an operator name",
    "ARGUMENT": "an argument",
    "RESULT": "a type",
    "FLAT": "a type",
    "PATH": "a type",
    "NAME": "a name",
    "NUMBER": "a default value",
    "STAR": "'*'",
    "ELLIPSIS": "'...'",
    "_ARROW": "'->'",
    "LPAR": "'('",
    "RPAR": "')'",
    "COMMA": "','",
    "EQUAL": "'='",
    "RSQB": "']'",
    "OPTIONAL": "'?'",
    "SIZE": "'[]'",
    "BANG": "'!'",
    "VBAR": "'|'",
    "$END": "the end",
}


def _describe(text: str, rule: str, shift: int, error: UnexpectedInput) -> _Wrong:
    start = stop = len(text.rstrip(" \t\r\n"))
    found = "the end"
    expected = set(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]
    number = None
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start, stop = extent(error.token)
        found = _quote(str(error.token))
    elif not isinstance(error, UnexpectedToken):
        start = error.pos_in_stream or 0
        number = _HEXADECIMAL.match(text, start) if "NUMBER" in expected else None
        stop = number.end() if number else start + 1
        found = _quote(text[start:stop])
    words = _wanted(expected)
    message = f"expected {words}, found {found}" if words else f"unexpected {found}"
    if number is not None:
        hint: str | None = f"write {int(number[0], 16)}: of an int written so, PyTorch reads 0"
    else:
        hint = _ALIAS_HINT if rule == "flat_type" else _hint(error, text) if rule == "schema" else None
    return message, start + shift, stop + shift, hint


def _hint(error: UnexpectedInput, text: str) -> str | None:
    """Return the hint of the example that fails as this text does."""
    state, kind = _failure(error, text)
    known = _failures()
    return known.get((state, kind)) or known.get((state, None))


@cache
def _failures() -> dict[tuple[int, str | None], str]:
    """Return hints by how their examples fail: the parser's state with the offending token or character, or alone."""
    found: dict[tuple[int, str | None], str] = {}
    for hint, examples in HINTS.items():
        for example in examples:
            try:
                precise_parser().parse(example, start="schema")
            except UnexpectedInput as error:
                state, kind = _failure(error, example)
                found.setdefault((state, kind), hint)
                found.setdefault((state, None), hint)
    return found


def _failure(error: UnexpectedInput, text: str) -> tuple[int, str]:
    state: int = error.state.position
    return state, error.token.type if isinstance(error, UnexpectedToken) else text[error.pos_in_stream or 0]


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _wanted(expected: set[str]) -> str:
    """Return the terminals in words; a way to begin a thing is left out beside the thing's own name."""
    if "FLAT" in expected or "ARGUMENT" in expected:
        expected = expected - {"LPAR", "GENERIC"} - ({"FLAT"} if "ARGUMENT" in expected else set())
    if "NUMBER" in expected:
        expected = expected - {"NAME", "LSQB", "STRING"}
    words = list(dict.fromkeys(word for name, word in _WORDS.items() if name in expected))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}" if words else ""


# Each hint with malformed schemas that call for it. A text gets the hint of the example that fails as it does: in the
# same state of the parser and, where there is such an example, on the same token; else the first in that state.
HINTS: dict[str, list[str]] = {
    "a schema is written NAME(ARGUMENTS) -> RESULTS, as in: add(Tensor self, Tensor other) -> Tensor": ["", "("],
    "only the operator name was given; write NAME(ARGUMENTS) -> RESULTS": ["f", "aten::f", "f.out"],
    "an overload name is one word that does not begin with a digit, as in NAME.OVERLOAD": [
        "f.() -> ()",
        "f.1() -> ()",  # `.1` is found where a number may begin
        "f.a.b() -> ()",
    ],
    "write NAMESPACE::NAME, in letters, digits and underscores": ["a:f() -> ()", "::f() -> ()", "a::é() -> ()"],
    "an operator name is made of letters, digits and underscores, and does not begin with a digit": [
        "f-g() -> ()",
        "9f() -> ()",
        "é() -> ()",
        "f g() -> ()",
    ],
    "after the arguments write '-> TYPE', or '-> ()' for no result": [
        "f()",
        "f() - ()",
        "f() Tensor",
        "f() = Tensor",
        "f() ()",
        "f() : Tensor",
        "f() ->",
        "f(int x)",
        "f(int x) - ()",
        "f(int x) Tensor",
        "f(int x) ->",
        "f(...) ()",
    ],
    "an argument is written TYPE NAME": [
        "f(Tensor) -> ()",
        "f(Tensor, int x) -> ()",
        "f(Tensor 9) -> ()",
        "f(Tensor é) -> ()",
        "f(Tensor $x) -> ()",
        "f(Tensor=1) -> ()",
        "f((int, int)) -> ()",
        "f(Dict(int, int)) -> ()",
    ],
    "leave out the comma after the last one": ["f(int x,) -> ()", "f() -> (Tensor,)"],
    "'...' comes last": ["f(..., int x) -> ()", "f() -> (..., int)"],
    "lists are written TYPE[] or TYPE[N], optional values TYPE?": [
        "f(List[int] x) -> ()",
        "f(int[-1] x) -> ()",
        "f(Dict[int, int] x) -> ()",
        "f() -> List[int]",
        "f() -> (List[int])",
    ],
    "a value of one type or another is written Union(A, B)": ["f(int|str x) -> ()", "f() -> int|str"],
    "defaults are numbers (1, -1, 1.5, 1e-05, inf), True, False, None, a name, a quoted string, or a list of these": [
        "f(int x=+1) -> ()",
        "f(int x=1_0) -> ()",
        "f(int x=) -> ()",
        "f(int x=(1, 2)) -> ()",
        "f(int x={}) -> ()",
        "f(int[] x=[1,]) -> ()",
        "f(int[] x=[1, 2) -> ()",
        "f(int[] x=[(1)]) -> ()",
        "f(int x=a.b) -> ()",
        "f(int x=1 2) -> ()",
    ],
    "a string is in quotes that match, on one line; control characters are written escaped": [
        'f(str s="a) -> ()',
        "f(str s='a) -> ()",
        'f(str[] s=["a) -> ()',
    ],
    "results have no default values": ["f() -> (Tensor x=1)", "f() -> Tensor x=1"],
    "'*' belongs among the arguments": ["f() -> (*)", "f() -> *", "f() -> (Tensor, *)"],
    "nothing follows the results; a list of tuples as the result is written -> ((A, B)[])": [
        "f() -> Tensor)",
        "f() -> Tensor x y",
        "f() -> () x",
        "f() -> (Tensor, int)[]",
        "f() -> () -> ()",
        "f() -> ();",
    ],
    "the arguments are in parentheses that match": [
        "f(",
        "f(int x",
        "f(int x=1",
        "f(*",
        "f(int x, int y",
        "f(int x, ...",
        "f(Dict(int, int) x",
        "f(int[] x=[1]",
        "f(int x -> ()",
        "f(int x;) -> ()",
    ],
    "the results are in parentheses that match": [
        "f() -> (",
        "f() -> (int",
        "f() -> (int x",
        "f() -> (int, ",
        "f() -> (int, int",
        "f() -> (int, int x",
        "f() -> (int, ...",
    ],
    _ALIAS_HINT: ["f(Tensor!! x) -> ()", "f() -> (Tensor!!)"],
}
