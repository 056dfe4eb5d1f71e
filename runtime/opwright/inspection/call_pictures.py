"""Trees of calls as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opwright.inspection.call_trees import Call, CallTree

__all__ = ["as_html", "as_svg", "as_text"]

_WIDTH: Final = 960
_COLUMN: Final = 64  # where what served a call stands, unless calls are longer
_HEIGHT: Final = 22  # of a bar
_COLOURS: Final = {"Autograd": "#f2c14e", "Front": "#c3a6e0", "Back": "#c3a6e0", "CUDA": "#8fce88"}


def as_text(calls: Sequence[Call]) -> str:
    """Return a line for each call, below its caller's: operator, arguments and results (`…` where they are the
    caller's), then key and registration, and the keys of the tensors."""
    lines: list[tuple[str, str]] = []
    for call in calls:
        _collect(call, "", "", None, lines)
    width = min(_COLUMN, max((len(head) for head, _ in lines), default=0))
    return "\n".join(f"{head:<{width}}  {served}" for head, served in lines)


def _collect(call: Call, branch: str, below: str, above: Call | None, lines: list[tuple[str, str]]) -> None:
    is_redispatch = above is not None and call.operator == above.operator
    keys = "" if is_redispatch or not call.keys else f"  {_keys(call.keys)}"
    is_same = is_redispatch and above is not None and _named(call) == _named(above)
    lines.append((f"{branch}{'…' if is_same else _named(call)}", f"{_served(call)}{keys}"))
    for each in call.calls:
        branch, gap = ("└─ ", "   ") if each is call.calls[-1] else ("├─ ", "│  ")
        _collect(each, below + branch, below + gap, call, lines)


def _keys(keys: list[list[str]]) -> str:
    """Return the keys of each tensor, once where they are the same for all."""
    shown = [f"{{{' '.join(each)}}}" for each in keys]
    return shown[0] if len(set(shown)) == 1 else " ".join(shown)


def _named(call: Call) -> str:
    results = ", ".join(call.results) if call.error is None else call.error
    return f"{call.operator}({', '.join(call.arguments)}) → {results}"


def _served(call: Call) -> str:
    took = f"  {call.seconds * 1e6:.1f} µs" if call.seconds is not None else ""
    digest = f"  #{call.digest}" if call.digest is not None else ""
    return f"{call.key}: {call.rule}, {call.where}{took}{digest}"


def as_svg(calls: Sequence[Call]) -> str:
    """Return an SVG picture: a bar for each call below its caller's, as wide as its time, or as what it called."""
    bars: list[str] = []
    depth = _draw(calls, 0, _WIDTH, 0, bars)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {max(1, depth) * _HEIGHT}" width="100%"'
    return f'{head} font-family="ui-monospace, monospace" font-size="11">{"".join(bars)}</svg>'


def as_html(tree: CallTree) -> str:
    """Return what notebooks show: the picture, and the text to unfold."""
    summary = f"<summary>calls: {sum(1 for _ in tree)}</summary>"
    return f"{tree.picture()}<details>{summary}<pre>{escape(str(tree))}</pre></details>"


def _draw(calls: Sequence[Call], left: float, width: float, depth: int, bars: list[str]) -> int:
    """Draw calls side by side into a width; return how many rows they took."""
    sizes = [_size(call) for call in calls]
    scale, deepest = width / max(sum(sizes), 1e-12), depth
    for call, size in zip(calls, sizes, strict=True):
        wide = size * scale
        top, colour = depth * _HEIGHT, next((each for name, each in _COLOURS.items() if name in call.key), "#8fb8de")
        label = f"{call.operator.partition('::')[2]} {call.key}"
        text = f'<text x="{left + 4:.1f}" y="{top + 15}">{escape(label[: max(0, int(wide / 7) - 1)])}</text>'
        bars.append(
            f'<g><title>{escape(_named(call))}\n{escape(_served(call))}</title><rect x="{left:.1f}" y="{top}" '
            f'width="{max(wide - 1, 0.5):.1f}" height="{_HEIGHT - 2}" rx="3" fill="{colour}"/>{text}</g>'
        )
        deepest = max(deepest, _draw(call.calls, left, wide, depth + 1, bars))
        left += wide
    return max(deepest, depth + bool(calls))


def _size(call: Call) -> float:
    return call.seconds if call.seconds is not None else max(1, sum(map(_size, call.calls)))
