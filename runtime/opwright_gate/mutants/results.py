"""A measure shown: the table of classes, and the changes that nobody noticed; as a report of the gate, in all its
formats."""

from __future__ import annotations

from typing import Final, TextIO

from opwright_gate.mutants.outcomes import OUTCOMES, Measure, Outcome, Result, percent
from opwright_gate.reports.terminal import console_for
from opwright_gate.reports.texts import cut, one_line
from opwright_gate.verdicts import Answer, Report, Verdict

__all__ = ["report_of", "write_measure"]

_STYLES: Final[dict[Outcome, str]] = {
    "noticed": "green", "refused": "green", "unnoticed": "bold red", "equivalent": "dim", "undecided": "cyan"
}  # fmt: skip
_ANSWERS: Final[dict[Outcome, Answer]] = {
    "noticed": "held", "refused": "held", "unnoticed": "broken", "equivalent": "undecided", "undecided": "undecided"
}  # fmt: skip
_MOST_SHOWN: Final = 60


def report_of(measure: Measure) -> Report:
    """Return a report whose properties are the classes of changes: one that is noticed holds, one that is not is
    broken, and what changes nothing is not decided."""
    verdicts = tuple(_verdict(each) for each in measure.results)
    target = f"mutants of {measure.target}"
    return Report(verdicts, target, measure.seconds, measure.seed, dict(measure.versions))


def _verdict(result: Result) -> Verdict:
    mutant, outcome = result.mutant, result.outcome
    name = f"mutant-{mutant.where}-{mutant.kind}".replace(" ", "-").lower()
    why = f"{result.by}: {result.why}" if result.by else result.why
    if outcome == "unnoticed":
        why = f"no check notices the change of {mutant.where}: {mutant.changed}"
    return Verdict(mutant.operator, name, _ANSWERS[outcome], cause=outcome, why=why, call=mutant.changed)


def write_measure(measure: Measure, stream: TextIO) -> None:
    """Write the table of classes, what noticed the changes, and those that nothing noticed."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console = console_for(stream)
    unnoticed = [each.mutant for each in measure.results if each.outcome == "unnoticed"]
    for mutant in unnoticed[:_MOST_SHOWN]:
        head = Text(f"{mutant.operator}  ", style="bold").append(mutant.group, style="magenta")
        console.print(head.append(f"  {mutant.place}", style="dim"), soft_wrap=True)
        console.print(Text(f"  - {cut(one_line(mutant.before), 200)}", style="red"), soft_wrap=True)
        console.print(Text(f"  + {cut(one_line(mutant.after), 200)}", style="green"), soft_wrap=True)
    if len(unnoticed) > _MOST_SHOWN:
        console.print(f"… and {len(unnoticed) - _MOST_SHOWN} more: --format json has them all")
    console.print()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("change", overflow="fold", min_width=len("change"))
    for word in (*OUTCOMES, "% noticed"):
        table.add_column(word, justify="right")
    for group, counts in (*measure.groups.items(), ("all", measure.counts)):
        cells = [Text(str(counts[each]), style=_STYLES[each] if counts[each] else "dim") for each in OUTCOMES]
        share = percent(counts)
        table.add_row(Text(one_line(group)), *cells, "–" if share is None else f"{share:.0f}")
    console.print(table)
    console.print()
    shown = ", ".join(f"{one_line(name)} {number}" for name, number in measure.by.items())
    console.print(Text(f"noticed by: {shown or 'nothing'}"), soft_wrap=True)
    if measure.left_out:
        names = cut(", ".join(measure.left_out), 200)
        console.print(Text(f"left out: {len(measure.left_out)} operators ({one_line(names)})"), soft_wrap=True)
    operators = len({each.mutant.operator for each in measure.results})
    total = f"{len(measure.results)} mutants of {operators} operators"
    console.print(Text(f"{total}, seed {measure.seed}, {measure.seconds:.1f} s"), soft_wrap=True)
