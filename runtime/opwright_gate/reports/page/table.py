"""The table of operators × properties, a row for each backend; what each row counts stands first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from opwright_gate.reports.baseline import Kind, Standing
from opwright_gate.reports.page.sections import Names
from opwright_gate.reports.texts import one_line
from opwright_gate.verdicts import Verdict

__all__ = ["table_lines"]

_SIGNS: Final[dict[Kind, str]] = {"held": "✓", "broken": "✗", "known": "≈", "undecided": "?"}
_RANKS: Final[dict[Kind, int]] = {"broken": 0, "known": 1, "undecided": 2, "held": 3}
_COUNTED: Final[tuple[Kind, ...]] = ("held", "broken", "known", "undecided")


def table_lines(standing: Standing, names: Names) -> Iterator[str]:
    """Yield the table, which is whole without a program: that sorts rows and hides some."""
    yield '<p class="faint">✓ held, ✗ broken, ≈ known, ? not decided, · not asked. Headings sort.</p>'
    yield '<div class="scrolled"><table id="table"><thead><tr>'
    yield '<th class="text"><button class="sort">operator</button></th>'
    yield '<th class="text"><button class="sort">backend</button></th>'
    for kind in _COUNTED:
        yield f'<th class="turned"><button class="sort">{kind}</button></th>'
    for name in names.properties:
        yield f'<th class="turned"><button class="sort">{escape(one_line(name))}</button></th>'
    yield "</tr></thead><tbody>"
    for (operator, backend), verdicts in _rows(standing).items():
        yield _row(standing, names, operator, backend, verdicts)
    yield "</tbody></table></div>"


def _rows(standing: Standing) -> dict[tuple[str, str], dict[str, list[Verdict]]]:
    """Return the verdicts of each operator and backend, by property: one that is broken may have several."""
    found: dict[tuple[str, str], dict[str, list[Verdict]]] = {}
    for each in standing.report.verdicts:
        row = found.setdefault((each.operator, each.backend), {})
        row.setdefault(each.property, []).append(each)
    return found


def _row(standing: Standing, names: Names, operator: str, backend: str, verdicts: Mapping[str, list[Verdict]]) -> str:
    kinds = [standing.kind(each) for found in verdicts.values() for each in found]
    counts = {kind: kinds.count(kind) for kind in _COUNTED}
    data = " ".join(f'data-{kind}="{number}"' for kind, number in counts.items() if kind != "held")
    name = escape(one_line(operator))
    cells = [f'<th scope="row" data-value="{name}">{name}</th>', f'<td class="text" data-value="{escape(backend)}">']
    cells[-1] += f"{escape(one_line(backend))}</td>"
    cells += (_count(kind, number) for kind, number in counts.items())
    cells += (_cell(standing, names, verdicts.get(each, [])) for each in names.properties)
    return f'<tr data-operator="{name}" {data}>{"".join(cells)}</tr>'


def _count(kind: Kind, number: int) -> str:
    style = f' class="{kind}"' if number and kind != "held" else ""
    return f'<td{style} data-value="{number}">{number}</td>'


def _cell(standing: Standing, names: Names, verdicts: list[Verdict]) -> str:
    if not verdicts:
        return '<td class="none" data-value="9">·</td>'
    worst = min(verdicts, key=lambda each: _RANKS[standing.kind(each)])
    kind = standing.kind(worst)
    said = one_line(f"{worst.property}: {kind}. {worst.why}") if worst.why else f"{worst.property}: {kind}"
    target = names.findings.get(worst) if worst.verdict == "broken" else None
    target = names.holes.get((worst.property, worst.why)) if worst.verdict == "undecided" else target
    sign = f'<a href="#{target}">{_SIGNS[kind]}</a>' if target else _SIGNS[kind]
    return f'<td class="{kind}" data-value="{_RANKS[kind]}" title="{escape(said)}">{sign}</td>'
