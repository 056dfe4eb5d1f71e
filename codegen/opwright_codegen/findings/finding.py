"""The findings of a command: `Finding`, one problem with its place, and `Outcome`, all of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.records import dataclass, field

__all__ = ["LEVELS", "Finding", "Level", "Outcome"]

Level = Literal["error", "warning", "note"]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a command found. Lines and columns are counted from 1, and 0 where nobody knows them; the end is
    that of `region`. `about` is an operator, `excerpt` the line with a caret below it, `more` whatever else there is to
    say of it, by names."""

    code: str
    message: str
    level: Level = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    hint: str = ""
    about: str = ""
    excerpt: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: SchemaError, level: Level = "error", about: str = "") -> Finding:
        """Return an error, or a piece of advice, as a finding."""
        span = error.span
        if span is None:
            return cls(error.code, error.text, level, hint=error.hint or "", about=about)
        end = span.source.place(max(span.end, span.start + 1))
        place = span.source.shown_path(), span.line, span.column, *end
        return cls(error.code, error.text, level, *place, error.hint or "", about, span.caret())

    @property
    def place(self) -> str:
        """Return the place as compilers write it, as far as it is known: `ops.yaml:3:7`."""
        numbers = (str(each) for each in (self.line, self.column if self.line else 0) if each)
        return ":".join(filter(None, (self.file, *numbers)))


@dataclass(slots=True)
class Outcome:
    """The outcome of a command, for formats that programs read: what people read, the command prints itself, but for
    the errors that it raises. `files` are those that it looked at: one without an error passed; `passed` are tests
    that did, as operator and property. `facts` are figures, such as the number of operators."""

    command: str
    findings: list[Finding] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    passed: list[tuple[str, str]] = field(default_factory=list)
    facts: dict[str, int | float | str] = field(default_factory=dict)
    status: int = 0

    def add(self, error: SchemaError, level: Level = "error") -> None:
        """Add a problem; a group adds its members."""
        for member in error.errors if isinstance(error, SchemaErrors) else (error,):
            self.findings.append(Finding.of(member, level))
