"""The grammars: where each stands, and how it is read."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple

__all__ = ["FORMULA", "SCHEMA", "Grammar", "digest"]


class Grammar(NamedTuple):
    """A grammar: its package, which has NAME.lark and NAME.json, and how it is read.

    `keeps_all`: rules get tokens without a name of their own, too. `is_basic`: a word is one token everywhere, else a
    state reads what it accepts.
    """

    package: str
    name: str
    starts: tuple[str, ...]
    keeps_all: bool = False
    is_basic: bool = False

    @property
    def text(self) -> str:
        """Return the text of the grammar."""
        return files(self.package).joinpath(f"{self.name}.lark").read_text(encoding="utf-8")


SCHEMA: Final = Grammar("opwright_codegen.schema", "schema", ("schema", "argument", "result", "flat_type"))
FORMULA: Final = Grammar("opwright_codegen.formula", "formula", ("start",), keeps_all=True, is_basic=True)


def digest(text: str) -> str:
    """Return what tables are known by to be those of a grammar's text."""
    return sha256(text.encode()).hexdigest()
