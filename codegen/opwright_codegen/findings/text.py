"""Findings for people: the place, what is wrong, the line with a caret, a hint. Colours are for terminals.

Rich draws colours if it is installed, and is loaded for them alone: `NO_COLOR` switches them off, `FORCE_COLOR` on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal, TextIO

from opwright_codegen.findings.finding import Finding, Level
from opwright_codegen.findings.texts import fit, one_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console_for", "has_rich", "is_coloured", "text_of", "write_findings"]

_STYLES: Final[dict[Level, str]] = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_NARROWEST: Final = 20


def text_of(finding: Finding) -> str:
    """Return a finding as text without colours."""
    return "\n".join("".join(text for text, _ in line) for line in _lines(finding))


def write_findings(findings: Iterable[Finding], stream: TextIO) -> None:
    """Write findings, an empty line between them."""
    console = console_for(stream) if is_coloured(stream) else None
    for index, finding in enumerate(findings):
        if index:
            stream.write("\n")
        if console is None:
            stream.write(f"{text_of(finding)}\n")
            continue
        from rich.text import Text

        for line in _lines(finding):
            console.print(Text.assemble(*line), soft_wrap=True)


def is_coloured(stream: TextIO) -> bool:
    """Whether a stream is given colours."""
    if os.environ.get("NO_COLOR"):
        return False
    wanted = bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
    return wanted and has_rich()


def has_rich() -> bool:
    """Return whether Rich is installed, which draws colours, tables and bars on terminals."""
    return find_spec("rich") is not None


def console_for(stream: TextIO) -> Console:
    """Return what draws on a stream, as wide as its terminal."""
    from rich.console import Console

    system: Literal["auto"] | None = "auto" if is_coloured(stream) else None  # else nothing is bold, either
    console = Console(file=stream, color_system=system, highlight=False, markup=False, emoji=False, soft_wrap=False)
    console.width = max(console.width, _NARROWEST)  # of no width at all Rich draws nothing
    return console


def _lines(finding: Finding) -> Iterator[list[tuple[str, str]]]:
    """Yield the lines of a finding, as texts with their styles."""
    style = _STYLES[finding.level]
    place = [(one_line(finding.place), "bold"), (": ", "")] if finding.file else []
    yield [*place, (f"{finding.level}:", style), (f" {fit(finding.message)}", ""), (f" [{finding.code}]", "dim")]
    for index, line in enumerate(fit(finding.excerpt).split("\n") if finding.excerpt else ()):
        yield [(f"    {line}", style if index else "")]
    if finding.hint:
        yield [("hint:", "bold green"), (f" {fit(finding.hint)}", "")]
