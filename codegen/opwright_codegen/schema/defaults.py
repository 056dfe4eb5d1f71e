"""Default values: a literal in a schema to the Python value that it means for the argument's type, and back."""

from __future__ import annotations

import math
import re

from opwright_codegen.records import dataclass, field
from opwright_codegen.schema.types import BaseType, Type

__all__ = ["Default", "EnumName", "Literal", "Value", "default_of"]

# A default as it is written: one token's text, or the elements of a list.
Literal = str | tuple["Literal", ...]

_INT_LIMIT = 2**63
_LONGEST_BROADCAST = 1024  # `int[N] x=1` is N equal values; beyond this N the declaration is a mistake
_REDUCTIONS = {"Mean": 1, "Sum": 2}  # the numbers that callers get
_NUMBER_TYPES = frozenset({"float", "complex", "Scalar", "number", "SymFloat"})
_UNNAMED_TYPES = _NUMBER_TYPES | {"bool", "str", "Tensor", "SymBool"}
_WORDS = {"None": None, "True": True, "False": False}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_SPELLED = {value: f"\\{key}" for key, value in _ESCAPED.items() if key != "'"}


@dataclass(frozen=True, slots=True)
class EnumName:
    """A default that is the name of something: `Mean`, `contiguous_format`, `long`."""

    name: str

    def __str__(self) -> str:
        return self.name


Value = None | bool | int | float | complex | str | EnumName | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Default:
    """A default value and its spelling. Two are equal when they mean the same: `1.` and `1.0`, `'a'` and `"a"`, and
    nan and nan, `Mean` and `1`, but not `1` and `1.0` or `True`, which is what comparing Python values would say.
    `is_bare`: a device without its quotes, as PyTorch prints it, and nobody may write it.
    """

    value: Value = field(compare=False)
    text: str = field(default="", compare=False)
    is_bare: bool = field(default=False, compare=False, repr=False)
    _meaning: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        value = _REDUCTIONS.get(self.value.name, self.value) if isinstance(self.value, EnumName) else self.value
        object.__setattr__(self, "_meaning", repr(value))
        if not self.text:
            object.__setattr__(self, "text", spell(self.value))

    def __str__(self) -> str:
        return self.text


def default_of(literal: Literal, type: Type) -> Default:
    """Return the default that a literal is for an argument of this type. Raises ValueError when it can be none."""
    sized = type.list_type
    core = type.base()
    name = core.name if isinstance(core, BaseType) else ""
    value = _value(literal, name)
    text = write_literal(literal)
    if sized is not None and sized.size is not None and value is not None and not isinstance(value, tuple):
        if sized.size > _LONGEST_BROADCAST:
            raise ValueError(f"one value cannot stand for {sized.size:,}")
        value = (value,) * sized.size
    if name == "Device" and isinstance(value, str):
        text = spell(value)  # PyTorch prints a Device default without the quotes it needs to be read again
    return Default(value, text, is_bare=name == "Device" and _is_bare(literal))


def _is_bare(literal: Literal) -> bool:
    """Whether a text is written without quotes."""
    if isinstance(literal, str):
        return literal != "None" and literal[0] not in "\"'"
    return any(map(_is_bare, literal))


def write_literal(literal: Literal) -> str:
    """Return the literal as it is printed: as written, with lists spaced `[0, 1]`."""
    return literal if isinstance(literal, str) else f"[{', '.join(map(write_literal, literal))}]"


def spell(value: Value) -> str:
    """Return the canonical spelling of a value, which reads back as the same value."""
    match value:
        case None | bool() | EnumName() | int():
            return str(value)
        case float():
            return repr(value)
        case complex():
            # Python's own repr rounds signs of zeros away in parentheses; both parts are always written here.
            return f"{value.real!r}{'' if math.copysign(1, value.imag) < 0 else '+'}{value.imag!r}j"
        case str():
            return f'"{"".join(map(_spell_char, value))}"'
        case tuple():
            return f"[{', '.join(map(spell, value))}]"


def _spell_char(char: str) -> str:
    if char in _SPELLED:
        return _SPELLED[char]
    code = ord(char)
    if char.isprintable() and not 0xD800 <= code <= 0xDFFF:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _value(literal: Literal, type: str) -> Value:
    """Return the value of a literal where values of the base type of this name ('' for any other type) are wanted."""
    if isinstance(literal, tuple):
        return tuple(_value(item, type) for item in literal)
    if literal[0] in "\"'":
        return _string(literal[1:-1])
    if literal in _WORDS:
        return _WORDS[literal]
    if (
        literal[0] in "-.0123456789"
        or literal in ("inf", "nan")
        or (literal[-1] == "j" and literal[:3] in ("inf", "nan"))
    ):
        return _number(literal, type)
    if type == "Device":
        return literal
    if ":" in literal:
        raise ValueError(f"{literal!r} is a device, which {type or 'this type'} is not")
    if type in _UNNAMED_TYPES:
        right = {"true": "True", "false": "False", "none": "None", "null": "None"}.get(literal.lower())
        raise ValueError(f"{literal!r} is no value of {type}" + (f"; write {right}" if right else ""))
    return EnumName(literal)


def _number(text: str, type: str) -> Value:
    if text[-1] == "j" or type == "complex":
        value = complex(text)
        if "inf" not in text and (math.isinf(value.real) or math.isinf(value.imag)):
            raise ValueError(f"{_short(text)} is out of a complex number's range")
        return value
    if type == "float" or not text.lstrip("-").isdigit():
        number = float(text)
        if math.isinf(number) and "inf" not in text:
            raise ValueError(f"{_short(text)} is out of a float's range")
        return math.nan if math.isnan(number) else number
    if len(text) > 4000 or not -_INT_LIMIT <= int(text) < _INT_LIMIT:
        raise ValueError(f"{_short(text)} is out of a 64-bit integer's range")
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def _string(text: str) -> str:
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    x, u, long_u, octal, char = match.groups()
    if char is not None:
        if char not in _ESCAPED:
            raise ValueError(f"'\\{char}' is no escape sequence")
        return _ESCAPED[char]
    code = int(octal, 8) if octal is not None else int(x or u or long_u, 16)
    if code > 0x10FFFF:
        raise ValueError(f"'{match[0]}' is no character")
    return chr(code)
