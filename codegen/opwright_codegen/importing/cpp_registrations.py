"""Registrations in C++: `m.def` and `m.impl` within `TORCH_LIBRARY` and its kin, read from tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from opwright_codegen.importing.gathered import Gathered
from opwright_codegen.importing.source_lines import Places
from opwright_codegen.records import dataclass
from opwright_codegen.source import Source
from opwright_codegen.sources.cpp_signatures import Callee
from opwright_codegen.sources.cpp_tokens import SIGN, TEXT, WORD, Token, Tokens, cpp_error
from opwright_codegen.sources.cpp_types import closing, split

__all__ = ["read_registrations"]

_LIBRARY = re.compile(r"(?:STABLE_)?TORCH_LIBRARY(?:_[A-Z]++)*+")
_EXTENSIONS = ("TORCH_EXTENSION_NAME", "PYTHON_EXTENSION_NAME")  # what a build sets
_OF_SCHEMAS = ("schema", "TORCH_SELECTIVE_SCHEMA", "TORCH_SELECTIVE_NAME", "string", "string_view")
_OF_KERNELS = ("TORCH_FN", "TORCH_BOX")
_OF_OPTIONS = ("kernel", "catchAllKernel", "impl_unboxedOnlyKernel", "impl_unboxedOnlyCatchAllKernel")
_DEFAULT_KEY = "CompositeImplicitAutograd"
_SEEN = 16  # blocks around a call, and calls around a text, that are looked at
_OPEN, _CLOSE = "([{", ")]}"
_LOADED = "opwright import torch NAMESPACE --load MODULE reads what is loaded"

_Tokens = Sequence[Token]


@dataclass(frozen=True, slots=True)
class _Block:
    """The braces of a `TORCH_LIBRARY(namespace, variable)`, or of a function that gets a Library."""

    variable: str
    namespace: str | None
    key: str | None
    start: int


def read_registrations(source: Source, into: Gathered, extension: str, is_given: bool) -> None:
    """Add what a C++ source registers. `extension` is what TORCH_EXTENSION_NAME stands for, if `is_given` surely so.

    Raises SchemaError for comments, texts and brackets that never end.
    """
    _Reader(source, into, extension, is_given).read()


class _Reader:
    def __init__(self, source: Source, into: Gathered, extension: str, is_given: bool) -> None:
        self._source = source
        self._where = Places(source).where
        self._tokens = Tokens(source)
        self._into = into
        self._extension = extension
        self._is_given = self._is_said = is_given
        self._blocks: list[tuple[int, _Block]] = []  # each with the depth of braces within it
        self._next_block: _Block | None = None
        self._has_old_registry = False

    def read(self) -> None:
        depth, before = 0, ""
        while (token := self._tokens.take()) is not None:
            if token.kind is WORD:
                self._word(token, before)
            elif token.text == "{" and token.kind is not TEXT:
                depth += 1
                if self._next_block is not None:
                    self._blocks.append((depth, self._next_block))
                    self._next_block = None
            elif token.text == "}" and token.kind is not TEXT:
                depth = max(depth - 1, 0)
                while self._blocks and self._blocks[-1][0] > depth:
                    self._blocks.pop()
            elif token.text == ";":
                self._next_block = None
            before = "" if token.kind is TEXT else token.text
        for _, block in self._blocks:
            hint = "braces under #if and #else count twice: what follows is taken to be within"
            self._into.hole(self._where(block.start), None, "the block is never closed", hint)
        for start in self._tokens.hidden:
            problem = "a macro registers operators: what it stands for is not read"
            self._into.hole(self._where(start), None, problem, _LOADED)

    def _word(self, token: Token, before: str) -> None:
        tokens, word = self._tokens, token.text
        if _LIBRARY.fullmatch(word) and tokens.peek() == "(":
            self._library(token)
        elif word == "Library" and tokens.peek() == "&" and tokens.peek(2) in (")", ","):
            namespace = self._extension if self._is_given else None
            self._next_block = _Block(tokens.peek(1), namespace, None, token.start)
        elif word == "PYBIND11_MODULE":
            problem = "functions of a pybind11 module are no operators"
            self._into.hole(self._where(token.start), None, problem, "register them with TORCH_LIBRARY")
        elif word == "RegisterOperators":
            self._has_old_registry = True
        elif self._has_old_registry and (word == "Operator" or (before, word) == (".", "op")) and tokens.peek() == "(":
            self._define(None, token, *self._arguments())
        elif before not in (".", "->", "::") and tokens.peek() in (".", "->"):
            inner = islice(reversed(self._blocks), _SEEN)
            block = next((block for _, block in inner if block.variable == word), None)
            if block is not None:
                self._calls(block)

    def _library(self, token: Token) -> None:
        """Read the head of a block, as far as its `)`."""
        arguments, _ = self._arguments()
        is_impl = "_IMPL" in token.text
        if len(arguments) != (3 if is_impl else 2) or len(arguments[-1]) != 1:
            problem = f"{token.text} has {'a namespace, a key' if is_impl else 'a namespace'} and a variable"
            self._into.hole(self._where(token.start), None, problem)
            return
        namespace = self._namespace(arguments[0], token)
        key = self._defined(arguments[1][0].text) if is_impl and arguments[1] else None
        self._next_block = _Block(arguments[-1][0].text, namespace, key, token.start)

    def _namespace(self, tokens: _Tokens, at: Token) -> str | None:
        """Return the namespace that a block names: a word, a macro, or `CONCAT(a, b)`."""
        words = [self._defined(token.text) for token in tokens if token.kind is WORD]
        if len(tokens) > 1:
            is_call = tokens[0].kind is WORD and "CONCAT" in words[0].upper()
            words = words[1:] if is_call else []
        if not self._is_said and any(word in _EXTENSIONS for word in words):
            self._is_said = True
            problem = f"its namespace is that of the extension, which a build sets: {self._extension!r} is taken"
            self._into.hole(self._where(at.start), None, problem, "--namespace NAME says it")
        return "".join(self._extension if word in _EXTENSIONS else word for word in words) or None

    def _defined(self, word: str) -> str:
        """Return what a word stands for by the `#define`s of the file."""
        for _ in range(8):
            if word not in self._tokens.defines:
                break
            word = self._tokens.defines[word]
        return word

    def _calls(self, block: _Block) -> None:
        """Read `.def(…)` or `.impl(…)` behind the variable of a block, and those that are chained to it."""
        tokens = self._tokens
        while tokens.peek() in (".", "->"):
            tokens.take()
            method = tokens.take()
            if method is None or tokens.peek() != "(":
                break
            if method.text == "def":
                self._define(block, method, *self._arguments())
            elif method.text == "impl":
                self._implement(block, method, *self._arguments())
            elif method.text == "fallback":
                problem = "a fallback serves the operators of all: a schema file has none"
                self._into.hole(self._where(method.start), None, problem)
                break
            else:
                break
        if method is not None and method.text == "class_":
            problem = "a custom class is no operator: its methods are left out"
            self._into.hole(self._where(method.start), None, problem, _LOADED)

    def _arguments(self) -> tuple[list[list[Token]], bool]:
        """Return the arguments of the call whose bracket comes, and whether they depend on `#if`."""
        tokens = self._tokens
        opening = tokens.take()
        assert opening is not None  # callers look at it
        conditions = tokens.conditions
        arguments: list[list[Token]] = [[]]
        open_brackets = ["("]
        while (token := tokens.take()) is not None:
            if token.kind is not TEXT and token.text in _OPEN:
                open_brackets.append(token.text)
            elif token.kind is not TEXT and token.text in _CLOSE:
                if open_brackets.pop() != _OPEN[_CLOSE.index(token.text)]:
                    break
                if not open_brackets:
                    return [each for each in arguments if each], tokens.conditions != conditions
            if token.text == "," and token.kind is not TEXT and len(open_brackets) == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)
        raise cpp_error(self._source, opening.start, "the bracket is never closed", "a ) is missing")

    def _define(self, block: _Block | None, at: Token, arguments: list[list[Token]], is_conditional: bool) -> None:
        where = self._where(at.start)
        text = _text_of(arguments[0]) if arguments else None
        if text is None:
            if block is not None or at.text == "op":
                hint = "write the schema into the schema file by hand; " + _LOADED
                self._into.hole(where, None, "the schema is computed: no text stands here", hint)
            return
        name = text.partition("(")[0].strip()
        namespace = block.namespace if block is not None else None
        full = f"{namespace}::{name}" if "::" not in name and namespace is not None else name
        if is_conditional:
            self._into.hole(where, full, "parts of the registration stand under #if", "write the one that is meant")
            return
        kernel = _joined(arguments[1:])
        if "(" in text:
            defined = self._into.define(text, namespace, where, _tags(arguments[1:]))
        elif not kernel:
            defined = None
            self._into.hole(where, full, "no schema is said here: write it", _LOADED)
        else:
            callee = Callee.read(_kernel_of(kernel))
            defined = self._into.define_inferred(full, callee, where, _tags(arguments[1:]))
        if defined is not None and block is not None and kernel:
            self._add_kernel(defined, _DEFAULT_KEY, kernel, where)

    def _implement(self, block: _Block, at: Token, arguments: list[list[Token]], is_conditional: bool) -> None:
        where = self._where(at.start)
        name = _text_of(arguments[0]) if arguments else None
        if name is None or len(arguments) < 2:
            self._into.hole(where, None, "a kernel is given to an operator whose name is computed")
            return
        if "::" not in name:
            if block.namespace is None:
                self._into.hole(where, name, "the namespace of a kernel's operator is not said")
                return
            name = f"{block.namespace}::{name}"
        key = block.key or _DEFAULT_KEY
        rest = arguments[1:]
        if len(rest) > 1 and (path := _path(rest[0])) is not None:
            key, rest = _key(path), rest[1:]
        kernel = _joined(rest)
        self._into.suggest(name, Callee.read(_kernel_of(kernel)))
        self._add_kernel(name, key, kernel, where)

    def _add_kernel(self, name: str, key: str, tokens: _Tokens, where: str) -> None:
        inner = _within(tokens, ("dispatch",))
        if inner is not None and len(inner) > 1 and (path := _path(inner[0])) is not None:
            key, tokens = _key(path), inner[1]
        tokens = _unwrapped(tokens, _OF_KERNELS)
        if tokens and tokens[0].text == "&":
            tokens = tokens[1:]
        path = _path(tokens)
        if path is not None:
            self._into.implement(name, key, "::".join(path), where)
        else:
            problem = f"its kernel for {key} is no name of a function, but a lambda or another expression"
            hint, kind = "name the kernel in the schema file", "its kernel is no name of a function"
            self._into.hole(where, name, problem, hint, kind)


def _joined(arguments: list[list[Token]]) -> _Tokens:
    """Return the function that arguments give, whose template may have commas: all of them without tags and texts."""
    given = [each for each in arguments if not _is_tags(each) and any(token.kind is not TEXT for token in each)]
    comma = [Token(SIGN, ",", 0, 0)]
    return [token for i, each in enumerate(given) for token in (comma * bool(i) + each)]


def _kernel_of(tokens: _Tokens) -> _Tokens:
    """Return the function that `torch::dispatch(key, &f)` gives, or `options().kernel<decltype(f), &f>()`."""
    inner = _within(tokens, ("dispatch",))
    if inner is not None and len(inner) > 1:
        return inner[1]
    at = next(
        (i for i, token in enumerate(tokens[:-1]) if token.text in _OF_OPTIONS and tokens[i + 1].text == "<"), None
    )
    given = None if at is None else split(tokens[at + 2 : closing(tokens, at + 1)])
    return given[-1] if given and given[-1][0].text == "&" else tokens


def _text_of(tokens: _Tokens) -> str | None:
    """Return the text that string literals are together, perhaps in `torch::schema(…)`; None for what is computed."""
    tokens = _unwrapped(tokens, _OF_SCHEMAS)
    if tokens and all(token.kind is TEXT for token in tokens):
        return "".join(token.text for token in tokens)
    return None


def _unwrapped(tokens: _Tokens, names: tuple[str, ...]) -> _Tokens:
    """Return the first argument of calls of the names, as far as there are such."""
    for _ in range(_SEEN):
        inner = _within(tokens, names)
        if not inner:
            break
        tokens = inner[0]
    return tokens


def _within(tokens: _Tokens, names: tuple[str, ...]) -> list[list[Token]] | None:
    """Return the arguments of a call `ns::name(…)` of one of the names; None for all else."""
    at = next((i for i, token in enumerate(tokens) if token.text == "(" and token.kind is not TEXT), 0)
    if not at or tokens[at - 1].text not in names or tokens[-1].text != ")" or _path(tokens[:at]) is None:
        return None
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[at + 1 : -1]:
        if token.kind is not TEXT:
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if token.text == "," and token.kind is not TEXT and not depth:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return [each for each in arguments if each]


def _path(tokens: _Tokens) -> list[str] | None:
    """Return the words of `a::b::c`; None for what is no name."""
    if tokens and tokens[0].text == "::":
        tokens = tokens[1:]
    words = [token.text for token in tokens[::2]]
    is_path = len(tokens) % 2 == 1 and all(token.kind is WORD for token in tokens[::2])
    return words if is_path and all(token.text == "::" for token in tokens[1::2]) else None


def _key(path: list[str]) -> str:
    """Return the dispatch key that `torch::kCUDA` or `c10::DispatchKey::CUDA` names."""
    word = path[-1]
    return word[1:] if word[:1] == "k" and word[1:2].isupper() else word


def _is_tags(tokens: _Tokens) -> bool:
    return any(token.text == "Tag" for token in tokens)


def _tags(arguments: list[list[Token]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for tokens in filter(_is_tags, arguments):
        for i, token in enumerate(tokens[:-2]):
            if token.text == "Tag" and tokens[i + 1].text == "::":
                found[tokens[i + 2].text] = None
    return tuple(found)
