"""The mutants of an operator: which change each is, and of what class."""

from __future__ import annotations

from opwright_codegen.records import dataclass

__all__ = ["NAMESPACE", "Change", "Mutant"]

NAMESPACE = "mutants"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a text: its class (`sign flipped`), and the text that has it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """An entry with one change. Number 0 of an operator is its control, without any.

    `where` is the key that is changed; `before` and `after` are its values; `entry` and `derivative` the texts of both
    entries under the mutant's name.
    """

    operator: str
    name: str
    kind: str
    where: str
    before: str
    after: str
    entry: str
    derivative: str
    place: str

    @property
    def is_control(self) -> bool:
        """Whether nothing is changed."""
        return not self.kind
