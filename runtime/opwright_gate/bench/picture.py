"""The roofline as SVG: operations a second over operations on a byte, a dot for each call below what is possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from opwright.cost.model import shown
from opwright_gate.bench.machine import Machine
from opwright_gate.bench.timing import Timed

__all__ = ["roofline"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 760, 440, 70, 50, 30, 20
_COLOURS: Final = {"memory": "#0b6e99", "arithmetic": "#b3541e"}


class _Axis:
    """A logarithmic axis from one place to another."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (math.log10(value) - self.low) / max(self.high - self.low, 1)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        """Return the powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def roofline(rows: Sequence[Timed], limits: Machine) -> str:
    """Return the picture of calls that have operations."""
    drawn = [each for each in rows if each.operations and each.cost.bytes]
    ridge = limits.single / limits.bandwidth
    across = _Axis([*[each.cost.intensity for each in drawn], ridge / 4, 4 * ridge], _LEFT, _WIDTH - _RIGHT)
    rates = [each.operations / each.seconds for each in drawn]
    up = _Axis([*rates, limits.single, limits.double], _HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(across, up), *_roofs(across, up, limits), *(_dot(each, across, up) for each in drawn)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
    return "\n".join([f'{head}font-size="12"><rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
    for value in across.ticks:
        x = across.at(value)
        yield f'<line x1="{x}" x2="{x}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#e4e4e4"/>'
        yield f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{value:g}</text>'
    for value in up.ticks:
        y = up.at(value)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="#e4e4e4"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{shown(value).strip()}</text>'
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">operations on a byte</text>'
    yield f'<text x="{_LEFT}" y="18">operations a second</text>'


def _roofs(across: _Axis, up: _Axis, limits: Machine) -> Iterator[str]:
    """Yield the line of memory, and the lines of arithmetic."""
    for name, most in (("float32", limits.single), ("float64", limits.double)):
        low = max(10.0**across.low, 10.0**up.low / limits.bandwidth)
        points = [(low, low * limits.bandwidth), (most / limits.bandwidth, most), (10.0**across.high, most)]
        line = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in points)
        yield f'<polyline points="{line}" fill="none" stroke="#555" stroke-width="1.5"/>'
        text = f"{shown(most).strip()}flop/s {name}"
        yield f'<text x="{_WIDTH - _RIGHT - 4}" y="{up.at(most) - 5}" text-anchor="end" fill="#555">{text}</text>'


def _dot(row: Timed, across: _Axis, up: _Axis) -> str:
    x, y = across.at(row.cost.intensity), up.at(row.operations / row.seconds)
    title = f"{row.operator}({row.arguments}): {row.share:.0%} of what is possible"
    circle = f'<circle cx="{x}" cy="{y}" r="4" fill="{_COLOURS.get(row.bound, "#777")}" fill-opacity="0.7">'
    return f"{circle}<title>{escape(title)}</title></circle>"
