"""Types of C++ parameters and results as the types of a schema, as PyTorch infers them for `m.def("f", &f)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright_codegen.records import dataclass
from opwright_codegen.sources.cpp_tokens import TEXT, WORD, Token

__all__ = ["CppParameter", "closing", "result_types", "split", "type_of", "without_templates"]

_Tokens = Sequence[Token]

_BASES: Final = {
    **dict.fromkeys(("Tensor", "Variable"), "Tensor"),
    **dict.fromkeys(("int64_t", "int32_t", "int", "long", "size_t", "uint64_t"), "int"),
    **dict.fromkeys(("double", "float"), "float"),
    **dict.fromkeys(("string", "string_view"), "str"),
    **{
        name: name
        for name in (
            *("bool", "SymInt", "Scalar", "ScalarType", "Device", "Layout", "MemoryFormat", "Generator", "Storage"),
            *("Stream", "Dimname", "QScheme"),
        )
    },
    **dict.fromkeys(("TensorList", "ITensorListRef", "variable_list", "tensor_list"), "Tensor[]"),
    **dict.fromkeys(("IntArrayRef", "IntList"), "int[]"),
    "SymIntArrayRef": "SymInt[]",
    "OptionalIntArrayRef": "int[]?",
    "OptionalSymIntArrayRef": "SymInt[]?",
    "DimnameList": "Dimname[]",
}
_OPTIONAL: Final = ("optional",)
_LISTS: Final = ("vector", "ArrayRef", "List", "IListRef", "span", "HeaderOnlyArrayRef", "SmallVector")
_IGNORED: Final = ("const", "volatile", "typename", "struct", "class", "inline", "static", "constexpr", "extern")
_DEPTH: Final = 8  # of types within types


@dataclass(frozen=True, slots=True)
class CppParameter:
    """A parameter: its type in a schema, None for a type that no schema has, its name, or "", and the text of the type.

    `is_written` says that it is a reference to a Tensor that is not `const`.
    """

    type: str | None
    name: str
    text: str
    is_written: bool

    @classmethod
    def read(cls, tokens: _Tokens) -> CppParameter:
        """Read a parameter, `const at::Tensor& x = {}`."""
        default = next((i for i, token in enumerate(tokens) if token.text == "=" and token.kind is not TEXT), None)
        tokens = tokens[:default]
        name = ""
        if len(tokens) > 1 and tokens[-1].kind is WORD and tokens[-2].text not in ("::", *_IGNORED):
            tokens, name = tokens[:-1], tokens[-1].text
        found = type_of(tokens)
        is_constant = any(token.text == "const" for token in tokens)
        is_written = bool(tokens) and tokens[-1].text == "&" and not is_constant and found == "Tensor"
        return cls(found, name, " ".join(token.text for token in tokens), is_written)


def type_of(tokens: _Tokens, depth: int = 0) -> str | None:
    """Return the schema type of a C++ type; None if it has none."""
    words = [token for token in tokens if token.text not in _IGNORED]
    while words and words[-1].text == "&":
        words = words[:-1]
    opening = next((i for i, token in enumerate(words) if token.text == "<"), len(words))
    path = words[:opening]
    if not path or depth > _DEPTH or any(token.kind is not WORD and token.text != "::" for token in path):
        return None
    name = path[-1].text
    if opening == len(words):
        is_path = all(token.text == "::" for token in path[-2::-2])
        return _BASES.get(name) if is_path or {token.text for token in path} <= {"long", "int"} else None
    if words[-1].text != ">":
        return None
    return _template(name, split(words[opening + 1 : -1]), depth)


def _template(name: str, arguments: list[list[Token]], depth: int) -> str | None:
    """Return the type of `name<…>`."""
    inner = type_of(arguments[0], depth + 1) if arguments else None
    if inner is None:
        return None
    if name in _OPTIONAL:
        return inner if inner.endswith("?") else f"{inner}?"
    if name in _LISTS:
        return f"{inner}[]"
    if name == "OptionalArrayRef":
        return f"{inner}[]?"
    if name == "array" and len(arguments) == 2 and len(arguments[1]) == 1:
        return f"{inner}[{arguments[1][0].text}]"
    if name in ("Dict", "unordered_map") and len(arguments) == 2:
        value = type_of(arguments[1], depth + 1)
        return None if value is None else f"Dict({inner}, {value})"
    return None


def result_types(tokens: _Tokens) -> list[str] | None:
    """Return the result types: none for `void`, several for a tuple. Return None if one of them has no schema type."""
    words = [token for token in tokens if token.text not in _IGNORED]
    opening = next((i for i, token in enumerate(words) if token.text == "<"), 0)
    if [token.text for token in words] == ["void"]:
        return []
    is_tuple = opening and words[opening - 1].text in ("tuple", "pair") and words[-1].text == ">"
    found = [type_of(each) for each in (split(words[opening + 1 : -1]) if is_tuple else [words])]
    return None if None in found else [each for each in found if each is not None]


def split(tokens: _Tokens) -> list[list[Token]]:
    """Return the parts between commas, ignoring commas in brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind is not TEXT:
            depth += (token.text in "([{<") - (token.text in ")]}>") if len(token.text) == 1 else 0
        if token.text == "," and token.kind is not TEXT and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def without_templates(tokens: _Tokens) -> list[Token]:
    """Return a name without its template arguments."""
    found, depth = [], 0
    for token in tokens:
        depth -= token.text == ">"
        if not depth and token.text not in "<>":
            found.append(token)
        depth += token.text == "<"
    return found


def closing(tokens: _Tokens, opening: int) -> int:
    """Return the position of the closing bracket; the last position if the bracket is never closed."""
    depth = 0
    for at in range(opening, len(tokens)):
        if tokens[at].kind is not TEXT and len(tokens[at].text) == 1:
            depth += (tokens[at].text in "([{<") - (tokens[at].text in ")]}>")
            if not depth:
                return at
    return len(tokens) - 1
