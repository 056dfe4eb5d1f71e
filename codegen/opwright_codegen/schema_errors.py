"""Where in a schema each part stands, and, for text that is no schema, where and why. Only errors come here, so it may be slow."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema_parser import MAX_LENGTH, START_RULES, grammar, parse_parts
from opwright_codegen.source import Source, Span

__all__ = ["ArgumentSpans", "ReturnSpans", "SchemaSpans", "explain", "locate"]


class ArgumentSpans(NamedTuple):
    whole: Span
    type: Span
    name: Span
    default: Span | None


class ReturnSpans(NamedTuple):
    whole: Span
    type: Span
    name: Span | None


class SchemaSpans(NamedTuple):
    """Where the parts of a schema stand in its file; arguments and returns in the schema's order."""

    whole: Span
    name: Span
    arguments: tuple[ArgumentSpans, ...]
    returns: tuple[ReturnSpans, ...]
    stars: tuple[Span, ...]


@cache
def _precise() -> Lark:
    """The grammar with Lark's own lexer, which keeps positions."""
    return Lark(grammar(), parser="lalr", start=list(START_RULES), propagate_positions=True, maybe_placeholders=False)


class _Place:
    """Offsets in a schema's text as spans of the file it stands in."""

    def __init__(self, text: str, span: Span | None) -> None:
        self._span = span if span is not None else Source("<schema>", text).whole()
        # The text of a quoted or folded YAML scalar need not be in the file as it is: then the whole scalar is shown.
        self._offset = self._span.text.find(text) if text else 0

    def __call__(self, start: int, end: int) -> Span:
        return self._span if self._offset < 0 else self._span.sub(self._offset + start, self._offset + end)


def locate(text: str, span: Span | None = None) -> SchemaSpans:
    """Where the parts of a schema that parses stand in its file."""
    place = _Place(text, span)
    arguments: list[ArgumentSpans] = []
    returns: list[ReturnSpans] = []
    stars: list[Span] = []
    operator, *rest = _precise().parse(text, start="schema").children
    assert isinstance(operator, Token)
    for child in rest:
        for item in _leaves(child):
            match item:
                case Token(type="STAR"):
                    stars.append(place(*_extent(item)))
                case Token(type="ARGUMENT") | Tree(data="argument"):
                    whole, type, name, default = _parts(item, "argument")
                    assert type is not None and name is not None
                    arguments.append(
                        ArgumentSpans(place(*whole), place(*type), place(*name), place(*default) if default else None)
                    )
                case Token(type="RESULT") | Tree(data="result" | "bare_result"):
                    whole, type, name, _ = _parts(item, "result")
                    assert type is not None
                    returns.append(ReturnSpans(place(*whole), place(*type), place(*name) if name else None))
    return SchemaSpans(
        place(0, len(text)), place(*_extent(operator)), tuple(arguments), tuple(returns), tuple(stars)
    )


_Extent = tuple[int, int]


def _leaves(node: Token | Tree[Token]) -> list[Token | Tree[Token]]:
    """The items of a list of arguments or returns, whose rule recurses to the left."""
    found: list[Token | Tree[Token]] = []
    while isinstance(node, Tree) and node.data in ("arguments", "returns", "items", "results"):
        if not node.children:
            return found[::-1]
        node, *later = node.children
        found += reversed(later)
    if isinstance(node, Tree) and node.data == "bare_result" and isinstance(node.children[0], Token):
        first = node.children[0]
        node = first if first.type == "RESULT" else node
    found.append(node)
    return found[::-1]


def _parts(item: Token | Tree[Token], rule: str) -> tuple[_Extent, _Extent | None, _Extent | None, _Extent | None]:
    """Extents of an argument or result: the whole, its type, its name, its default."""
    shift = 0
    whole = _extent(item)
    if isinstance(item, Token):
        shift = whole[0]
        item = _precise().parse(str(item), start=rule)
    parts = [_extent(child, shift) for child in item.children]
    return whole, *(parts + [None] * 3)[:3]  # type: ignore[return-value]


def _extent(node: Token | Tree[Token], shift: int = 0) -> _Extent:
    at = node if isinstance(node, Token) else node.meta
    assert at.start_pos is not None and at.end_pos is not None
    return at.start_pos + shift, at.end_pos + shift


def explain(text: str, span: Span | None, error: ValueError) -> SchemaError:
    """The error to show for a text that `FunctionSchema.parse` could not read, `error` being what stopped it."""
    place = _Place(text, span)
    if len(text) > MAX_LENGTH:
        return SchemaError("schema-too-long", str(error), place(0, 1))
    wrong = _first_wrong(text, "schema", 0)
    if wrong is not None:
        message, start, end, hint = wrong
        return SchemaError("schema-syntax", message, place(start, end), hint)
    spans = locate(text, span)
    if len(error.args) == 2:  # an argument's default, and why it is none
        name, why = error.args
        where = next((a.default for a in spans.arguments if a.name.text == name and a.default), spans.whole)
        return SchemaError("default-value", f"default of argument '{name}': {why}", where)
    if len(spans.stars) > 1:
        return SchemaError("second-star", str(error), spans.stars[1], "arguments after the one '*' are keyword-only")
    alone = [(f"f({a.whole.text}) -> ()", a) for a in spans.arguments]
    alone += [(f"f() -> ({r.whole.text})", r) for r in spans.returns]
    at = next((part.type for schema, part in alone if not _reads(schema)), spans.whole)
    return SchemaError("schema-syntax", str(error), at)


def _reads(text: str) -> bool:
    try:
        parse_parts(text)
    except ValueError:
        return False
    return True


_Wrong = tuple[str, int, int, str | None]


def _first_wrong(text: str, rule: str, shift: int) -> _Wrong | None:
    """Message, start, end and hint of the first place where the text departs from the rule, inside of tokens included."""
    try:
        tree = _precise().parse(text, start=rule)
    except UnexpectedInput as error:
        return _describe(text, rule, shift, error)
    inside = {"ARGUMENT": "argument", "RESULT": "result", "FLAT": "flat_type"}
    for token in tree.scan_values(lambda value: isinstance(value, Token) and value.type in inside):
        wrong = _first_wrong(str(token), inside[token.type], shift + _extent(token)[0])
        if wrong is not None:
            return wrong
    return None


_ALIAS_HINT = "alias annotations are written (a), (a!), (a -> *), (a! -> a|b), (a|b), (*)"

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
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start, stop = _extent(error.token)
        found = _quote(str(error.token))
    elif not isinstance(error, UnexpectedToken):
        start = error.pos_in_stream or 0
        found, stop = _quote(text[start]), start + 1
    words = _wanted(set(error.interactive_parser.accepts()))  # type: ignore[attr-defined] # LALR's errors have it
    message = f"expected {words}, found {found}" if words else f"unexpected {found}"
    hint = _ALIAS_HINT if rule == "flat_type" else _hint(error, text) if rule == "schema" else None
    return message, start + shift, stop + shift, hint


def _hint(error: UnexpectedInput, text: str) -> str | None:
    """The hint of the example that fails as this text does."""
    state, kind = _failure(error, text)
    known = _failures()
    return known.get((state, kind)) or known.get((state, None))


@cache
def _failures() -> dict[tuple[int, str | None], str]:
    """Hints by how their examples fail: the parser's state with the offending token or character, or the state alone."""
    found: dict[tuple[int, str | None], str] = {}
    for hint, examples in HINTS.items():
        for example in examples:
            try:
                _precise().parse(example, start="schema")
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
    """The terminals in words; a way to begin a thing is left out beside the thing's own name."""
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
    "write NAMESPACE::NAME": ["a:f() -> ()", "::f() -> ()"],
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
        "f(int x=0x10) -> ()",
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
    "the arguments are in parentheses that match": ["f(", "f(int x", "f(int x=1", "f(*", "f(int x -> ()", "f(int x;) -> ()"],
    "the results are in parentheses that match": ["f() -> (", "f() -> (int", "f() -> (int x", "f() -> (int, "],
}
