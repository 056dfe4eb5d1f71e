"""Signatures of C++ functions: the schemas of operators that are registered without one, as in `m.def("f", &f)`.

PyTorch infers these schemas from the types and calls the arguments `_0`, `_1`; here they keep the names of the
parameters. Defaults of C++ are no part of a schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from opwright_codegen.errors import shorten
from opwright_codegen.records import dataclass
from opwright_codegen.source import Source
from opwright_codegen.sources.cpp_tokens import TEXT, WORD, Token, Tokens
from opwright_codegen.sources.cpp_types import CppParameter, closing, result_types, split, without_templates

__all__ = ["Callee", "Signatures"]

_Tokens = Sequence[Token]

_WRAPPERS: Final = ("TORCH_FN", "TORCH_BOX", "makeFromUnboxedFunction")
_NO_TYPES: Final = ("return", "else", "new", "delete", "throw", "using", "typedef", "operator", "case", "goto")
_SPECIFIERS: Final = ("static", "inline", "constexpr", "extern", "virtual", "explicit", "friend")
_LONGEST: Final = 200  # tokens of the type before a name


@dataclass(frozen=True, slots=True)
class Callee:
    """The function that a registration gives: the words of its name, or the signature that the expression has itself.

    A lambda without a result type may return what the function named by `path` returns.
    """

    path: tuple[str, ...] = ()
    parameters: tuple[CppParameter, ...] | None = None
    returns: tuple[Token, ...] = ()

    @classmethod
    def read(cls, tokens: _Tokens) -> Callee | None:
        """Read `&f`, `TORCH_FN(ns::f)`, `static_cast<R (*)(A, B)>(&f)`, a lambda; None for any other expression."""
        for _ in range(4):
            words = [token.text for token in tokens]
            if words[:1] == ["["]:
                return _lambda(tokens)
            opening = next((i for i, word in enumerate(words) if word in ("(", "<")), 0)
            if "static_cast" in words[:1] and words[-1] == ")":
                end = closing(tokens, 1)
                return _pointer(tokens[2:end])
            if opening and words[opening - 1] in _WRAPPERS and words[-1] == ")":
                tokens = tokens[opening + 1 : -1]
            elif words[:1] == ["("] and "*" in words and (end := closing(tokens, 0)) < len(tokens) - 1:
                return _pointer(tokens[1:end])
            elif words[:1] in (["&"], ["::"]):
                tokens = tokens[1:]
        path = [token.text for token in without_templates(tokens) if token.kind is WORD]
        is_path = all(token.kind is WORD or token.text == "::" for token in without_templates(tokens))
        return cls(tuple(path)) if path and is_path else None


@dataclass(frozen=True, slots=True)
class _Declaration:
    path: tuple[str, ...]
    parameters: tuple[CppParameter, ...]
    returns: tuple[Token, ...]

    def types(self) -> tuple[object, ...]:
        return tuple((each.type, each.text if each.type is None else "") for each in self.parameters)


class Signatures:
    """The functions that sources declare or define, of the names that are asked for."""

    def __init__(self, sources: Sequence[Source], names: Collection[str]) -> None:
        self._found: dict[str, list[_Declaration]] = {}
        self.paths: set[str] = set()  # of the sources that declare one
        for source in sources:
            if any(name in source.text for name in names):
                for declaration in _declarations(source, names):
                    self._found.setdefault(declaration.path[-1], []).append(declaration)
                    self.paths.add(source.path)

    def schema(self, callee: Callee) -> tuple[str | None, str]:
        """Return the schema of a function without its name, `(Tensor x, int n) -> Tensor`, or why there is none."""
        parameters, returns = callee.parameters, callee.returns
        if parameters is None or (callee.path and not returns):
            declared, problem = self._declared(callee.path)
            if declared is None:
                return None, problem
            parameters = declared.parameters if parameters is None else parameters
            returns = declared.returns
        return _written(parameters, returns)

    def _declared(self, path: tuple[str, ...]) -> tuple[_Declaration | None, str]:
        """Return the function that a name with its namespaces means."""
        name = shorten("::".join(path))
        named = self._found.get(path[-1], [])
        found = [each for each in named if each.path[-len(path) :] == path] or named
        if not found:
            return None, f"no given file declares {name}"
        if len({each.types() for each in found}) > 1:
            return None, f"{name} has several signatures"
        return next((each for each in found if all(one.name for one in each.parameters)), found[0]), ""


def _written(parameters: Sequence[CppParameter], returns: _Tokens) -> tuple[str | None, str]:
    texts, written = [], []
    for position, each in enumerate(parameters):
        if each.type is None:
            return (
                None,
                f"the parameter {each.name or position + 1} has a type that no schema has: {shorten(each.text)}",
            )
        type_ = each.type
        if each.is_written:
            type_ = f"Tensor(a{position}!)"
            written.append(type_)
        texts.append(f"{type_} {each.name or f'_{position}'}")
    results = result_types(returns)
    if results is None:
        shown = shorten(" ".join(token.text for token in returns)) or "none that is stated"
        return None, f"its result has a type that no schema has: {shown}"
    references = sum(token.text == "&" for token in returns)
    if references and references == len(results) == len(written):
        results = written
    elif references and not any(token.text == "const" for token in returns):
        return None, "it returns a reference, and which of its arguments that is the types do not tell"
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(texts)}) -> {result}", ""


def _declarations(source: Source, names: Collection[str]) -> Iterator[_Declaration]:
    """Yield the functions of these names that a source declares or defines."""
    tokens = Tokens(source)
    scopes: list[str] = []
    before: list[Token] = []  # since the statement began
    while (token := tokens.take()) is not None:
        if token.kind is TEXT or token.text not in ("{", "}", ";", ":"):
            before.append(token)
            if token.kind is WORD and token.text in names and tokens.peek() == "(" and len(before) < _LONGEST:
                inner = _in_brackets(tokens)
                found = _declaration(before, inner, scopes, tokens)
                if found is not None:
                    yield found
                before += inner
            continue
        if token.text == "{":
            scopes.append(_scope(before))
        elif token.text == "}" and scopes:
            scopes.pop()
        before = []


def _declaration(before: _Tokens, inner: _Tokens, scopes: list[str], tokens: Tokens) -> _Declaration | None:
    """Return the function whose name is the last token of `before`, with parameters in `inner`; None for a call."""
    start = len(before) - 1
    while start >= 2 and before[start - 1].text == "::" and before[start - 2].kind is WORD:
        if start >= 3 and before[start - 3].kind is not WORD and before[start - 3].text not in (">", "&", "*", "::"):
            break
        start -= 2
    path = tuple(token.text for token in before[start:] if token.kind is WORD)
    returns = _result(before[:start])
    if returns is None or tokens.peek() not in ("{", ";", "const", "noexcept", "override", "-", "->", ":", "final"):
        return None
    while tokens.peek() in ("const", "noexcept", "override", "final"):
        tokens.take()
    if tokens.peek() == "->":
        tokens.take()
        returns = []
        while tokens.peek() not in ("", "{", ";") and (token := tokens.take()) is not None:
            returns.append(token)
    parameters = tuple(CppParameter.read(each) for each in split(inner) if [token.text for token in each] != ["void"])
    outer = tuple(word for scope in scopes for word in scope.split("::") if word)
    return _Declaration((*outer, *path), parameters, tuple(returns))


def _result(before: _Tokens) -> list[Token] | None:
    """Return the result type in the tokens before a name; None if they are no type."""
    found = [token for token in before if token.kind is not TEXT]
    if found and found[0].text == "template":
        found = found[closing(found, 1) + 1 :]
    while found and found[0].text == "[":
        found = found[closing(found, 0) + 1 :]
    is_type = all(token.kind is WORD or token.text in ("::", "<", ">", ",", "&", "*") for token in found)
    if not found or not is_type or any(token.text in _NO_TYPES for token in found):
        return None
    return _without_macros([token for token in found if token.text not in _SPECIFIERS])


def _without_macros(tokens: list[Token]) -> list[Token]:
    """Return a type without the words in capitals before it, `SCATTER_API torch::Tensor`."""
    while len(tokens) > 1 and tokens[0].kind is WORD and tokens[1].kind is WORD and tokens[0].text.isupper():
        tokens = tokens[1:]
    return tokens


def _scope(before: _Tokens) -> str:
    """Return what a brace opens: the name of a namespace or a class, `a::b` for nested ones; "" for all else."""
    words = [token.text for token in before]
    kind = next((word for word in words if word in ("namespace", "class", "struct")), None)
    if kind is None or "(" in words or "=" in words:
        return ""
    after = before[words.index(kind) + 1 :]
    path = []
    for token in after:
        if token.text in ("final", "<", ":"):
            break
        path.append(token.text)
    return "".join(path if kind == "namespace" else path[-1:])


def _in_brackets(tokens: Tokens) -> list[Token]:
    """Take a bracket and its content, and return the content."""
    found: list[Token] = []
    depth = 0
    while (token := tokens.take()) is not None:
        if token.kind is not TEXT:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if not depth:
            break
        found.append(token)
    return found[1:]


def _pointer(tokens: _Tokens) -> Callee | None:
    """Read the type of a pointer to a function, `Tensor (*)(const Tensor&, int64_t)`."""
    at = next((i for i, token in enumerate(tokens) if token.text == "("), -1)
    end = closing(tokens, at) if at > 0 else -1
    if end < 0 or end + 1 >= len(tokens) or tokens[end + 1].text != "(":
        return None
    parameters = split(tokens[end + 2 : closing(tokens, end + 1)])
    return Callee((), tuple(map(CppParameter.read, parameters)), tuple(tokens[:at]))


def _lambda(tokens: _Tokens) -> Callee | None:
    """Read the signature of a lambda; its result may be that of the only function that it calls."""
    at = closing(tokens, 0) + 1
    parameters: list[list[Token]] = []
    if at < len(tokens) and tokens[at].text == "(":
        end = closing(tokens, at)
        parameters, at = split(tokens[at + 1 : end]), end + 1
    body = next((i for i in range(at, len(tokens)) if tokens[i].text == "{"), len(tokens))
    arrow = next((i for i in range(at, body) if tokens[i].text == "->"), None)
    read = tuple(map(CppParameter.read, parameters))
    if arrow is not None:
        return Callee((), read, tuple(tokens[arrow + 1 : body]))
    returned = [token.text for token in tokens[body + 1 : body + 2]] == ["return"]
    call = next((i for i in range(body, len(tokens)) if tokens[i].text == "("), body)
    path = [token.text for token in tokens[body + 2 : call] if token.kind is WORD]
    is_call = call > body and [token.text for token in tokens[closing(tokens, call) + 1 :]] == [";", "}"]
    return Callee(tuple(path), read) if returned and path and is_call else None
