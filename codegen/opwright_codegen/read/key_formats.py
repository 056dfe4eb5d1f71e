"""The record of a key of schema files, and the formats of values: JSON Schemas, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from opwright_codegen.read.autocast import BANNED, DEVICES, POLICIES
from opwright_codegen.read.launch import NUMBERS
from opwright_codegen.read.values import Reader
from opwright_codegen.records import dataclass

Format = Mapping[str, Any]


class Form(Enum):
    """The layout that `opwright fmt` gives the value of a key."""

    AS_WRITTEN = "as written"
    SCHEMA = "a schema"
    WORDS = "words separated by commas"


class Mutants(Enum):
    """The treatment of a key by `opwright mutate`."""

    KEEP = "a mutant has the key as it is"
    CHANGE = "a mutant changes an expression of the value"
    LEAVE_OUT = "a mutant does not have the key: it makes other operators, or says nothing of values"
    UNFIT = "an entry with the key has no mutants: it needs a library, a pair of variants, or PyTorch's own file"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an entry. `field` is the field of `Operator` that has its value, by default the field of that name.

    `reader` is None for keys that need more than their node: `entries.py` reads them. `format` is the JSON Schema of
    the value; `says` is its description in editors and in the documentation.
    """

    name: str
    reader: Reader | None
    format: Format
    says: str
    field: str = ""
    form: Form = Form.AS_WRITTEN
    mutants: Mutants = Mutants.KEEP


def text(**more: object) -> Format:
    """Return the format of a text, with more keywords of JSON Schema, such as `examples`."""
    return {"type": "string", **more}


def mapping(values: Format, **more: object) -> Format:
    """Return the format of a mapping with any keys, whose values have the format `values`."""
    return {"type": "object", **more, "additionalProperties": values}


def one_or_more(*examples: str) -> Format:
    """Return the format of a text or a list of texts."""
    return {"oneOf": [text(examples=list(examples)) if examples else TEXT, TEXTS]}


def _record(properties: Mapping[str, Format], **more: object) -> Format:
    return {"type": "object", "additionalProperties": False, **more, "properties": properties}


def _number(name: str, **more: object) -> Format:
    least, most = NUMBERS[name]
    return {"type": "integer", "minimum": least, "maximum": most, **more}


TEXT: Final = text()
BOOLEAN: Final[Format] = {"type": "boolean"}
TEXTS: Final[Format] = {"type": "array", "items": TEXT}
ONE_OR_MORE: Final = one_or_more()

_POLICY: Final = text(pattern=f"^({'|'.join(POLICIES)}|{BANNED}: .+)$")
_DEVICE: Final = f"({'|'.join(DEVICES)})"
AUTOCAST: Final[Format] = {
    "oneOf": [
        {**_POLICY, "examples": [*POLICIES, f"{BANNED}: use add"]},
        mapping(_POLICY, minProperties=1, propertyNames={"pattern": f"^{_DEVICE}( *, *{_DEVICE})?$"}),
    ]
}

DEPRECATED: Final = _record({"since": text(examples=["1.2"]), "use": text(examples=["soft"]), "message": TEXT})

FUNCTIONS: Final[Format] = {
    "oneOf": [
        text(examples=["nn.soft"]),
        mapping({"type": ["string", "null"]}, examples=[{"nn.soft(x, limit=0.5)": "Return `x` moved towards 0."}]),
    ]
}

_CALL: Final = text(examples=["self.soft(limit=lambd)"])
_FORMER: Final = text(examples=["soft(Tensor self, Scalar lambd=0.5) -> Tensor"])
UPGRADE: Final[Format] = {
    **mapping({"oneOf": [_CALL, _record({"from": _FORMER, "call": _CALL}, required=["call"])]}),
    "examples": [{"2": "self.soft(limit=lambd)"}],
}

LAUNCH: Final = _record(
    {
        "threads": _number("threads", default=256),
        "elements": _number("elements", default=1),
        "shared": {"type": ["integer", "string"], "examples": ["threads * itemsize", 4096], "default": 0},
        "shared_limit": _number("shared_limit", default=0),
        "ndim": {
            "oneOf": [
                _number("ndim"),
                mapping(_number("ndim"), minProperties=1, examples=[{"logits": 2, "target": 1}]),
            ]
        },
        "grid": text(
            pattern="^(elements|rows|rows of [A-Za-z_][A-Za-z_0-9]*)$",
            examples=["elements", "rows", "rows of logits"],
            default="elements",
        ),
        "options": one_or_more("--use_fast_math"),
        "constants": mapping(
            {
                "oneOf": [
                    {"type": "integer", "minimum": -999999999, "maximum": 999999999},
                    text(pattern="^(elements|row)$"),
                ]
            },
            examples=[{"BLOCK": "elements"}],
        ),
    }
)
