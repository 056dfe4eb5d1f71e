"""Trees of calls as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opwright.inspection.call_trees import Call

__all__ = ["as_text"]

_COLUMN: Final = 64  # of keys and registrations, unless calls are longer


def as_text(calls: Sequence[Call]) -> str:
    """Return a line for each call, below the line of its caller: operator, arguments, results, key, registration.

    `…` stands for the operator, arguments and results of the caller. The keys of the tensors come last.
    """
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
    """Return the keys of each tensor, once if they are the same for all."""
    shown = [f"{{{' '.join(each)}}}" for each in keys]
    return shown[0] if len(set(shown)) == 1 else " ".join(shown)


def _named(call: Call) -> str:
    results = ", ".join(call.results) if call.error is None else call.error
    return f"{call.operator}({', '.join(call.arguments)}) → {results}"


def _served(call: Call) -> str:
    took = f"  {call.seconds * 1e6:.1f} µs" if call.seconds is not None else ""
    digest = f"  #{call.digest}" if call.digest is not None else ""
    return f"{call.key}: {call.rule}, {call.where}{took}{digest}"
