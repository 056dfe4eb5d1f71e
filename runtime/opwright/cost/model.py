"""`Cost`: what a call computes and moves."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Cost"]

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


@dataclass(frozen=True, slots=True)
class Cost:
    """The arithmetic and the traffic of a call.

    `flops`: additions, multiplications, comparisons and the like, a multiply-add counts 2. `transcendentals`: roots,
    exponentials, logarithms, circular functions, … which are not among them. `read` and `written` are bytes, each array
    once. `source` says how it is known: `declared`, `expression`, `product`, `elementwise`, `reduction`, `parts`,
    `view`, or `bytes` where only these are.
    """

    flops: int = 0
    transcendentals: int = 0
    read: int = 0
    written: int = 0
    source: str = field(default="", compare=False)

    @property
    def bytes(self) -> int:
        """Return what is moved: the bytes that are read, and those that are written."""
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """Return how many operations come on a byte, transcendental functions among them."""
        return (self.flops + self.transcendentals) / max(self.bytes, 1)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.read + other.read,
            self.written + other.written,
            self.source if self.source == other.source else "parts",
        )

    def __str__(self) -> str:
        parts = [f"{shown(self.flops)}flop"]
        parts += [f"{shown(self.transcendentals)}transcendentals"] if self.transcendentals else []
        parts += [f"{shown(self.read)}B read", f"{shown(self.written)}B written"]
        return ", ".join(parts) + (f" ({self.source})" if self.source else "")


def shown(number: float, digits: int = 3) -> str:
    """Return a number with the prefix of a thousand, a million, …, before a unit: `1.23 G`."""
    power = 0
    while abs(number) >= 1000 and power < len(_PREFIXES) - 1:
        number, power = number / 1000, power + 1
    return f"{number:.{digits}g} {_PREFIXES[power]}"
