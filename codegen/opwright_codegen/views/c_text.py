"""Text of schemas in C: comments and literals that it cannot leave, names that C has no other use for."""

from __future__ import annotations

import re
import textwrap
from typing import Final

from opwright_codegen.views.names import Namer

__all__ = ["c_block", "c_comment", "c_literal", "c_name", "c_namer"]

_KEYWORDS: Final = (
    "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "complex", "const", "constexpr", "continue",
    "default", "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "imaginary", "inline",
    "int", "long", "main", "noreturn", "nullptr", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "static_assert", "struct", "switch", "thread_local", "true", "typedef", "typeof", "union", "unsigned",
    "void", "volatile", "while", "and", "and_eq", "bitand", "bitor", "catch", "class", "compl", "concept", "delete",
    "export", "friend", "mutable", "namespace", "new", "not", "not_eq", "operator", "or", "or_eq", "private",
    "protected", "public", "requires", "template", "this", "throw", "try", "typeid", "typename", "using", "virtual",
    "xor", "xor_eq", "char8_t", "char16_t", "char32_t", "co_await", "co_return", "co_yield", "const_cast", "consteval",
    "constinit", "decltype", "dynamic_cast", "explicit", "noexcept", "reinterpret_cast", "static_cast", "wchar_t",
    "errno", "I", "NULL", "linux", "unix", "EOF", "int8_t", "int16_t", "int32_t", "int64_t",
    "uint8_t", "uint16_t", "uint32_t", "uint64_t", "intptr_t", "size_t",
)  # fmt: skip
# The ends and beginnings of comments, a backslash (before a line's end it joins lines), trigraphs: each in other signs.
_UNSAFE: Final = re.compile(r"\*(?=/)|/(?=\*)|\?(?=\?)")
_PLAIN: Final = frozenset(" !#$%&()*+,-./:;<=>@[]^_`{|}~'")


def c_comment(text: str, width: int = 116) -> list[str]:
    """Return the text as the lines inside a comment, which they cannot end. Long lines are broken."""
    lines = []
    for line in text.splitlines() or [""]:
        shown = "".join(char if char.isprintable() else "?" for char in line).replace("\\", "<backslash>")
        shown = _UNSAFE.sub(lambda found: f"{found[0]} ", shown)
        # (a line that begins with a slash would end the comment behind the star that each line begins with)
        lines += textwrap.wrap(shown, width, break_on_hyphens=False) or [""]
    return [f" {line}" if line.startswith("/") else line for line in lines]


def c_block(*texts: str) -> str:
    """Return a comment of the texts, one below the other."""
    lines = [line for text in texts for line in c_comment(text)]
    return "\n".join([f"/* {lines[0]}".rstrip(), *(f" * {line}".rstrip() for line in lines[1:]), " */"])


def c_literal(text: str) -> str:
    """Return a string literal of the text in UTF-8: all but plain ASCII is written in octal."""
    return '"' + "".join(_char(byte) for byte in text.encode()) + '"'


def _char(byte: int) -> str:
    char = chr(byte)
    return char if byte < 128 and (char.isalnum() or char in _PLAIN) else f"\\{byte:03o}"


def c_namer() -> Namer:
    """Return a scope of names for C's parameters, where those that C itself has are taken."""
    return Namer(_KEYWORDS)


def c_name(namer: Namer, wanted: str) -> str:
    """Claim a name, or one like it where it is taken; none begins with an underscore, as many of C's own do."""
    return namer.claim(f"a{wanted}" if wanted.startswith("_") else wanted)
