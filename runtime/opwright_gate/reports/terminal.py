"""A report in a terminal: findings with their programs, a table of properties, what was not decided, and totals.

Rich draws it, and is loaded by nothing else: it knows widths, and colours where NO_COLOR and pipes allow them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TextIO

from opwright_gate.reports.baseline import Kind, KnownFinding, Standing, count_kinds, held_percent
from opwright_gate.reports.texts import cut, one_line, printable
from opwright_gate.verdicts import Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["console_for", "write_text"]

STYLES: Final[dict[Kind, str]] = {"held": "green", "broken": "bold red", "known": "yellow", "undecided": "cyan"}
_WIDTH_OF_FILES: Final = 120
_NARROWEST: Final = 20
_NARROW: Final = 60  # columns: below, tables leave out what the totals say
_MOST_REASONS: Final = 12
_MOST_FINDINGS: Final = 200


def console_for(stream: TextIO) -> Console:
    """Return what draws on a stream: as wide as its terminal, or as COLUMNS says, else 120 columns."""
    from rich.console import Console

    is_terminal = stream.isatty()
    width = None if is_terminal or os.environ.get("COLUMNS", "").isdecimal() else _WIDTH_OF_FILES
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
    console.width = max(console.width, _NARROWEST)  # of no width at all Rich draws nothing
    return console


def write_text(standing: Standing, stream: TextIO) -> None:
    """Write the report as tables and paragraphs."""
    console = console_for(stream)
    _write_findings(standing, console)
    _write_table(standing, console)
    _write_reasons(standing, console)
    _write_entries("known findings that occur no more, which the baseline can do without", standing.gone, console)
    _write_entries("known findings whose day has come", standing.over, console)
    _write_totals(standing, console)


def _print_indented(text: Text, console: Console) -> None:
    """Print a paragraph two columns to the right, without spaces behind its lines."""
    for line in text.wrap(console, max(console.width - 2, 20)):
        line.rstrip()
        line.pad_left(2)
        console.print(line, soft_wrap=True)


def _write_findings(standing: Standing, console: Console) -> None:
    from rich.syntax import Syntax
    from rich.text import Text

    for each in standing.findings[:_MOST_FINDINGS]:
        backend = "" if each.backend == "CPU" else f" on {each.backend}"
        head = Text(one_line(each.operator), style="bold").append(backend)
        head.append(f"  {one_line(each.property)}", style="magenta").append(f"  {one_line(each.cause)}", style="red")
        console.print(head)
        _print_indented(Text(one_line(each.why)), console)
        if each.call:
            _print_indented(Text(one_line(each.call), style="dim"), console)
        if each.program:
            # A line of a program is not broken: it is there to be copied.
            shown = Syntax(
                printable(each.program).rstrip("\n"), "python", theme="ansi_dark", background_color="default"
            )
            text = shown.highlight(shown.code)
            text.rstrip()
            for line in text.split("\n"):
                console.print(Text("    ").append_text(line), soft_wrap=True)
        console.print()
    more = len(standing.findings) - _MOST_FINDINGS
    if more > 0:
        console.print(f"… and {more} more findings: --format html or json has them all\n")


def _write_table(standing: Standing, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    groups: dict[str, list[Verdict]] = {}
    for each in standing.report.verdicts:
        groups.setdefault(each.property, []).append(each)
    if not groups:
        return
    is_narrow = console.width < _NARROW
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("property", overflow="fold", min_width=len("property"))
    kinds: list[Kind] = ["held", "broken"] if is_narrow else [kind for kind in STYLES if standing.counts[kind]]
    for kind in kinds:
        table.add_column(kind, justify="right")
    table.add_column("% held", justify="right")
    for name, verdicts in groups.items():
        counts = count_kinds(standing, verdicts)
        cells = [Text(str(counts[kind]), style=STYLES[kind] if counts[kind] else "dim") for kind in kinds]
        decided = counts["held"] + counts["broken"] + counts["known"]
        table.add_row(Text(one_line(name)), *cells, f"{held_percent(counts):.0f}" if decided else "–")
    console.print(table)
    console.print()


def _write_reasons(standing: Standing, console: Console) -> None:
    from rich.text import Text

    reasons: dict[str, Counter[str]] = {}
    for each in standing.report.verdicts:
        if each.verdict == "undecided":
            reasons.setdefault(one_line(each.why) or "no reason was given", Counter())[one_line(each.property)] += 1
    if not reasons:
        return
    console.print(Text("not decided", style=STYLES["undecided"]))
    ordered = sorted(reasons.items(), key=lambda item: -item[1].total())
    for why, asked in ordered[:_MOST_REASONS]:
        _print_indented(Text(f"{asked.total():4} × {cut(why, 200)} ({cut(', '.join(asked), 100)})"), console)
    if len(ordered) > _MOST_REASONS:
        console.print(f"  … and {len(ordered) - _MOST_REASONS} more reasons: --format html or json has them all")
    console.print()


def _write_entries(title: str, entries: Iterable[KnownFinding], console: Console) -> None:
    from rich.text import Text

    entries = tuple(entries)
    if not entries:
        return
    console.print(Text(title, style=STYLES["known"]), soft_wrap=True)
    for each in entries:
        parts = (each.place, each.operator, each.property, each.cause, each.until and f"until {each.until}")
        _print_indented(Text(one_line("  ".join(filter(None, parts)))), console)
    console.print()


def _write_totals(standing: Standing, console: Console) -> None:
    from rich.text import Text

    report = standing.report
    operators = len(report.by_operator)
    line = Text(f"{operators} operator{'s' * (operators != 1)}: ")
    shown = [kind for kind in STYLES if standing.counts[kind] or kind in ("held", "broken")]
    for kind in shown:
        line.append(f"{standing.counts[kind]} {kind}", style=STYLES[kind] if standing.counts[kind] else "dim")
        line.append(", ")
    refused = sum(report.refusals.values())
    line.append(f"{refused} calls refused, " if refused else "")
    line.append(f"{standing.percent:.1f} % held of what was decided, seed {report.seed}, {report.seconds:.1f} s")
    console.print(line, soft_wrap=True)
