"""Curves as SVG, in the colours of the page: values and gradients over a line, errors over logarithmic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby
from math import log10
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.gate.reports.texts import one_line

if TYPE_CHECKING:
    from opwright.gate.reports.page.curves import Curve

__all__ = ["picture", "plot"]

_WIDTH: Final = 340
_HEIGHT: Final = 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 18, 22
# Colours of a picture by itself, seen on light and on dark pages.
_STYLE: Final = (
    "text{font:11px sans-serif;fill:#808080}.frame{fill:none}.frame,.zero{stroke:#80808080}"
    "polyline{fill:none;stroke-width:1.5}.line-0{stroke:#3b82f6}.line-1{stroke:#e08a1e}"
    "text.name-0{fill:#3b82f6}text.name-1{fill:#e08a1e}"
)
_STEEPEST: Final = 20.0  # what a value's axis reaches to, at most: poles would flatten all else

Point = tuple[float, float]


class _Axis(NamedTuple):
    """A stretch of numbers, and the pixels that it is drawn on."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a number."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def plot(curve: Curve) -> str:
    """Return a curve as an element `svg`."""
    is_of_errors = curve.kind == "errors"
    scale: Callable[[float], float] = log10 if is_of_errors else float
    names = list(curve.lines)
    # On logarithmic axes, what is exact has no place.
    lines = {
        name: [
            (scale(x), scale(y)) if y is not None and (y > 0 or not is_of_errors) else None
            for x, y in zip(curve.x, values, strict=False)
        ]
        for name, values in curve.lines.items()
    }
    known = [point for line in lines.values() for point in line if point is not None]
    if not known:
        return ""
    across, up = _axes(known, is_of_errors)
    parts = [*_frame(across, up, is_of_errors), *_names(names)]
    for index, name in enumerate(names):
        parts += _line(lines[name], across, up, index, is_of_errors)
    what = "errors by number of elements" if is_of_errors else "values and gradients"
    label = escape(f"{one_line(curve.operator)}: {what}")
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def picture(curve: Curve) -> str:
    """Return a curve as an SVG file, "" where there is nothing to be seen."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
    return plot(curve).replace("<svg ", head, 1).replace('">', f'"><style>{_STYLE}</style>', 1)


def _axes(points: Sequence[Point], is_of_errors: bool) -> tuple[_Axis, _Axis]:
    left, right = _stretch([x for x, _ in points])
    low, high = _stretch([y for _, y in points])
    if is_of_errors:
        low, high = low - 0.5, high + 0.5
    else:
        low, high = max(low, -_STEEPEST), min(high, _STEEPEST)
        if low >= high:
            low, high = -_STEEPEST, _STEEPEST
        low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    return _Axis(left, right, _LEFT, _WIDTH - _RIGHT), _Axis(low, high, _HEIGHT - _BOTTOM, _TOP)


def _stretch(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _frame(across: _Axis, up: _Axis, is_of_errors: bool) -> Iterator[str]:
    width, height = across.end - across.start, up.start - up.end
    yield f'<rect class="frame" x="{across.start}" y="{up.end}" width="{width}" height="{height}"/>'
    for position, value in ((up.start, up.low), (up.end + 8, up.high)):
        yield f'<text x="{_LEFT - 4}" y="{position:.1f}" text-anchor="end">{_number(value, is_of_errors)}</text>'
    for position, value, anchor in ((across.start, across.low, "start"), (across.end, across.high, "end")):
        shown = _number(value, is_of_errors)
        yield f'<text x="{position:.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{shown}</text>'
    middle = (across.start + across.end) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{"elements" if is_of_errors else "self"}</text>'
    if not is_of_errors and up.low < 0 < up.high:
        y = f"{up.at(0.0):.1f}"
        yield f'<line class="zero" x1="{across.start}" x2="{across.end}" y1="{y}" y2="{y}"/>'


def _number(value: float, is_of_errors: bool) -> str:
    return f"{10**value:.0e}".replace("e-0", "e-").replace("e+0", "e") if is_of_errors else f"{value:.3g}"


def _names(names: Sequence[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        yield f'<text class="name-{index}" x="{_LEFT + 70 * index}" y="12">{escape(one_line(name))}</text>'


def _line(points: Sequence[Point | None], across: _Axis, up: _Axis, index: int, is_of_errors: bool) -> Iterator[str]:
    """Yield the line in pieces: it ends where it leaves the frame, or where nothing is finite."""

    def place(point: Point | None) -> str | None:
        if point is None or not up.low <= point[1] <= up.high:
            return None
        return f"{across.at(point[0]):.1f},{up.at(point[1]):.1f}"

    places = [place(point) for point in points]
    for is_there, piece in groupby(places, lambda found: found is not None):
        if is_there:
            yield f'<polyline class="line-{index}" points="{" ".join(filter(None, piece))}"/>'
    for x, _, y in (found.partition(",") for found in places if found is not None and is_of_errors):
        yield f'<circle class="line-{index}" cx="{x}" cy="{y}" r="2.5"/>'
