"""`DimensionRule`: which dimension of each operand and result of a call is which factor, and what cutting one costs.

    b m k, b k n -> b m n; k sum        n d, m d -> n m; d whole        r t -> r t; t window(1, 1)

A factor is parallel unless it is named behind the `;`. `1` is a dimension of size 1 that broadcasts, and one of a
result that is not cut.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any, Final

from opwright.dimensions.kinds import PARALLEL, Kind, whole_since, window

__all__ = ["ONE", "DimensionRule", "Letters", "Names", "parse", "sides_of"]

ONE: Final = "1"
Names = tuple[str, ...]
_NONE: Final[Mapping[str, Kind]] = MappingProxyType({})


@dataclass(frozen=True)
class DimensionRule:
    """The rule of one call: factors of the dimensions of its tensors and results, and the kinds of those that are not
    parallel. `reason` says why nothing is cut, where nothing is.

    `linear` has groups of operands, by their order: partial sums of those of a group may pass, with the others held.
    """

    operands: tuple[Names, ...]
    results: tuple[Names, ...]
    kinds: Mapping[str, Kind] = field(default_factory=lambda: _NONE, hash=False)
    reason: str = field(default="", compare=False)
    linear: tuple[tuple[int, ...], ...] = ()

    def kind(self, factor: str) -> Kind:
        """Return what cutting a factor costs."""
        return whole_since("it broadcasts") if factor == ONE else self.kinds.get(factor, PARALLEL)

    @property
    def factors(self) -> Names:
        """Return all factors, in the order of operands."""
        return tuple([each for each in dict.fromkeys(name for own in self.operands for name in own) if each != ONE])

    def of_kind(self, *words: str) -> Names:
        """Return the factors of these kinds."""
        return tuple([each for each in self.factors if self.kind(each).word in words])

    def size(self, factor: str, shapes: Sequence[Sequence[int]]) -> int:
        """Return the size of a factor in operands of these shapes."""
        return next(shape[own.index(factor)] for own, shape in zip(self.operands, shapes, strict=True) if factor in own)

    def __str__(self) -> str:
        sides = [", ".join(" ".join(own) or "()" for own in side) for side in (self.operands, self.results)]
        said = ", ".join(f"{name} {kind}" for name, kind in self.kinds.items())
        return " -> ".join(sides) + (f"; {said}" if said else "")


class Letters:
    """Names of factors: a letter for each, in the order in which they are asked for; none that is taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._known: dict[Hashable, str] = {}
        self._count = 0

    def of(self, label: Hashable) -> str:
        """Return the name of a label."""
        if label not in self._known:
            self._known[label] = self.new()
        return self._known[label]

    def new(self) -> str:
        """Return a name that no other has."""
        while True:
            turn, letter = divmod(self._count, len(ascii_lowercase))
            self._count += 1
            name = ascii_lowercase[letter] + (str(turn) if turn else "")
            if name not in self._taken:
                return name


def parse(text: str, numbers: Mapping[str, Any] = MappingProxyType({})) -> DimensionRule:
    """Return the rule that a text says; windows may name `numbers`. Raises ValueError for what is none."""
    dims, _, said = text.partition(";")
    operands, results = sides_of(dims)
    kinds = {}
    for name, word, before, after in re.findall(r"(\w+|\.\.\.)\s+(\w+)(?:\(\s*(\w+)\s*,\s*(\w+)\s*\))?", said):
        reach = [int(each) if each.isdigit() else int(numbers[each]) for each in (before, after) if each]
        kinds[name] = window(*reach) if reach else Kind(word)
    return DimensionRule(operands, results, kinds)


def sides_of(dims: str) -> tuple[tuple[Names, ...], tuple[Names, ...]]:
    """Return the names of dimensions of operands and of results. Raises ValueError for a text without `->`."""
    left, arrow, right = dims.partition("->")
    if not arrow:
        raise ValueError(f"'->' is missing in {dims!r}")
    one, other = (tuple([tuple(part.replace("()", "").split()) for part in side.split(",")]) for side in (left, right))
    return one, other
