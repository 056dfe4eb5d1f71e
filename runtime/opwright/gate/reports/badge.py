"""A badge: how much of what was decided held, as a small picture in SVG."""

from __future__ import annotations

from html import escape
from typing import Final

from opwright.gate.reports.baseline import Standing

__all__ = ["badge"]

_LABEL: Final = "gate"
_DIGIT: Final = 6.6  # pixels of a character, as verdana of 11 pixels has on average
_GREEN, _YELLOW, _RED, _GREY = "#2e7d32", "#a06a00", "#c62828", "#616161"


def badge(standing: Standing) -> str:
    """Return the picture: red with new findings, yellow with known ones, grey where nothing was decided."""
    counts = standing.counts
    if counts["broken"]:
        message, colour = f"{counts['broken']} broken", _RED
    elif not counts["held"] and not counts["known"]:
        message, colour = "nothing decided", _GREY
    else:
        message = f"{standing.percent:.0f} % held" + (f", {counts['known']} known" if counts["known"] else "")
        colour = _YELLOW if counts["known"] else _GREEN
    left, right = round(_DIGIT * len(_LABEL)) + 12, round(_DIGIT * len(message)) + 12
    title = escape(f"{_LABEL}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{_LABEL}</text><text x="{left + right / 2:g}" y="14">{escape(message)}</text>'
        "</g></svg>\n"
    )
