"""The report of holes: how many there are of each kind, and a page of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.importing.found import Hole

__all__ = ["count_lines", "page"]


def count_lines(holes: Sequence[Hole]) -> Iterator[str]:
    """Yield a line for each kind of hole, with how many there are, most first."""
    for kind, found in _by_kind(holes).items():
        yield f"{len(found):6,}  {kind}"


def page(holes: Sequence[Hole], heading: str) -> str:
    """Return a page in Markdown: the holes by kind, each with its operator, where it is, and a hint."""
    lines = [f"# {heading}", ""]
    if not holes:
        lines.append("There are none.")
    for kind, found in _by_kind(holes).items():
        hints = {hole.hint for hole in found}
        common = hints.pop() if len(hints) == 1 else None
        lines += [f"## {kind} ({len(found):,})", ""]
        lines += [f"{common}.", ""] if common else []
        lines += [_item(hole, kind, common) for hole in found]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _by_kind(holes: Sequence[Hole]) -> Mapping[str, list[Hole]]:
    kinds: dict[str, list[Hole]] = {}
    for hole in holes:
        kinds.setdefault(hole.kind or hole.problem, []).append(hole)
    return dict(sorted(kinds.items(), key=lambda pair: -len(pair[1])))


def _item(hole: Hole, kind: str, common: str | None) -> str:
    name = f"`{hole.operator}`, {hole.where}" if hole.operator else hole.where
    problem = f": {hole.problem}" if hole.problem != kind else ""
    hint = f" ({hole.hint})" if hole.hint and hole.hint != common else ""
    return f"- {name}{problem}{hint}"
