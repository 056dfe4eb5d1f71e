"""The chart of breadth: a dot for each call, by its ratio on a logarithmic axis, a band for each mode."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, BAND, LEFT, TOP = 880, 92, 20, 46
LOW, HIGH = 0.05, 100.0
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
COLUMNS = 160


def drawn(bands: Mapping[str, Sequence[float]]) -> str:
    """Return the chart as SVG: `bands` are ratios by title; below 1 is faster than PyTorch."""
    height = TOP + BAND * len(bands) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">Time of a call, divided by PyTorch\'s. A dot is a call.</text>',
    ]
    for tick in TICKS:
        x = _place(tick)
        color = "#444" if tick == 1 else "#ddd"
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 26}" stroke="{color}"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 10}" font-size="11" text-anchor="middle">{tick:g}</text>')
    for number, (title, ratios) in enumerate(bands.items()):
        lines += _band(TOP + BAND * number, title, ratios)
    return "\n".join([*lines, "</svg>", ""])


def _band(top: int, title: str, ratios: Sequence[float]) -> list[str]:
    """Dots of one mode, stacked where they fall together, as one path for each color; a line at the median."""
    base = top + BAND - 8
    lines = [f'<line x1="{LEFT}" y1="{base + 3}" x2="{WIDTH - LEFT}" y2="{base + 3}" stroke="#ddd"/>']
    counts: dict[int, int] = {}
    dots: dict[str, str] = {}
    columns = [round((_place(ratio) - LEFT) / (WIDTH - 2 * LEFT) * COLUMNS) for ratio in ratios]
    step = min(5.0, (BAND - 26) / max(columns.count(each) for each in columns))
    for column, ratio in zip(columns, ratios, strict=True):
        height = counts[column] = counts.get(column, 0) + 1
        x = LEFT + column / COLUMNS * (WIDTH - 2 * LEFT)
        color = "#2a7f3f" if ratio <= 1 else "#c25b1f"
        dots[color] = f"{dots.get(color, '')}M{x:g} {base - (height - 1) * step:.1f}h0"
    of_all = 'fill="none" stroke-width="4.4" stroke-linecap="round"'
    lines += [f'<path stroke="{color}" {of_all} d="{path}"/>' for color, path in dots.items()]
    median = statistics.median(ratios)
    share = sum(ratio <= 1 for ratio in ratios) / len(ratios)
    said = escape(f"{title}: {len(ratios)} calls, median {median:.2f}, {share:.0%} at or below 1")
    x = _place(median)
    return [
        *lines,
        f'<line x1="{x:.1f}" y1="{top + 14}" x2="{x:.1f}" y2="{base + 3}" stroke="#1f4e9e" stroke-width="2"/>',
        f'<text x="{LEFT}" y="{top + 10}" font-size="12">{said}</text>',
    ]


def _place(ratio: float) -> float:
    share = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - 2 * LEFT)
