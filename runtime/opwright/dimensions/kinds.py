"""Kinds of factors: what cutting a dimension costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["AGAIN", "MAX", "MIN", "PARALLEL", "SUM", "WORDS", "Kind", "whole_since", "window"]

WORDS: Final = ("parallel", "sum", "max", "min", "again", "window", "whole")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of factor.

    `parallel`: blocks of results follow from blocks of operands. `sum`, `max`, `min`: results of parts are put together
    so. `again`: the operator itself puts them together. `window`: a block needs so many elements `before` and `after`
    it. `whole`: the dimension is not cut, for a `reason`.
    """

    word: str
    before: int = 0
    after: int = 0
    reason: str = field(default="", compare=False)

    def by(self, word: bool | str) -> Kind:
        """Return the kind of a word that is given in place of True."""
        return Kind(word) if isinstance(word, str) else self

    @property
    def is_combined(self) -> bool:
        """Whether results of parts are put together elementwise."""
        return self.word in ("sum", "max", "min")

    def __str__(self) -> str:
        return f"window({self.before}, {self.after})" if self.word == "window" else self.word


PARALLEL: Final = Kind("parallel")
SUM: Final = Kind("sum")
MAX: Final = Kind("max")
MIN: Final = Kind("min")
AGAIN: Final = Kind("again")


def window(before: int, after: int) -> Kind:
    """Return the kind of a dimension of which each element needs neighbours."""
    return Kind("window", before, after)


def whole_since(reason: str) -> Kind:
    """Return the kind of a dimension that is not cut."""
    return Kind("whole", reason=reason)
