"""The sections below the table: findings with programs, undecided verdicts and their reasons, properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from opwright_gate.properties import PROPERTIES
from opwright_gate.reports.baseline import Standing
from opwright_gate.reports.texts import one_line, printable
from opwright_gate.verdicts import Verdict

__all__ = ["Names", "finding_lines", "hole_lines", "property_lines"]


@dataclass(frozen=True)
class Names:
    """The targets of links: ids of findings, of reasons, and of properties, which are columns in this order."""

    properties: dict[str, str]
    findings: dict[Verdict, str]
    holes: dict[tuple[str, str], str]

    @classmethod
    def of(cls, standing: Standing) -> Names:
        """Return names for what a report has; properties in the order of their table, then others."""
        verdicts = standing.report.verdicts
        asked = dict.fromkeys(each.property for each in verdicts)
        ordered = [each.name for each in PROPERTIES if each.name in asked]
        ordered += [name for name in asked if name not in ordered]
        holes = dict.fromkeys((each.property, each.why) for each in verdicts if each.verdict == "undecided")
        return cls(
            {name: f"property-{index}" for index, name in enumerate(ordered)},
            {each: f"finding-{index}" for index, each in enumerate(standing.report.findings)},
            {key: f"hole-{index}" for index, key in enumerate(holes)},
        )


def finding_lines(standing: Standing, names: Names) -> Iterator[str]:
    """Yield an article for each finding, new ones first, with its program and a button that copies it."""
    if not names.findings:
        yield "<p>None.</p>"
    for verdict in sorted(names.findings, key=lambda each: standing.known_as(each) is not None):
        known = standing.known_as(verdict)
        style = ' class="is-known"' if known else ""
        operator = escape(one_line(verdict.operator))
        yield f'<article id="{names.findings[verdict]}" data-operator="{operator}"{style}>'
        asked = f'<a href="#{names.properties[verdict.property]}">{escape(one_line(verdict.property))}</a>'
        cause = f' <span class="broken">{escape(one_line(verdict.cause))}</span>' if verdict.cause else ""
        yield f"<h3>{operator} · {asked}{cause}</h3>"
        yield f"<p>{escape(one_line(verdict.why))}</p>"
        yield f'<p class="faint">{escape(one_line(f"{verdict.backend} · {verdict.call}").removesuffix(" ·"))}</p>'
        if known:
            until = f", until {known.until}" if known.until else ""
            yield f'<p class="known">known since {escape(known.date + until)}: {escape(one_line(known.reason))}</p>'
        if verdict.program:
            program = escape(printable(verdict.program).rstrip("\n"))
            yield f'<div class="program"><button class="copy">copy</button><pre>{program}</pre></div>'
        yield "</article>"


def hole_lines(standing: Standing, names: Names) -> Iterator[str]:
    """Yield a table of reasons with the operators that each reason leaves undecided."""
    if not names.holes:
        yield "<p>Everything was decided.</p>"
        return
    held_back: dict[tuple[str, str], list[str]] = {key: [] for key in names.holes}
    for each in standing.report.verdicts:
        if each.verdict == "undecided":
            held_back[each.property, each.why].append(each.operator)
    yield '<div class="scrolled"><table><thead><tr><th class="text">property</th><th class="text">reason</th>'
    yield "<th>operators</th></tr></thead><tbody>"
    for key, operators in sorted(held_back.items(), key=lambda item: -len(item[1])):
        asked, why = key
        shown = escape(one_line(", ".join(dict.fromkeys(operators))))
        yield f'<tr id="{names.holes[key]}"><td class="text"><a href="#{names.properties[asked]}">'
        yield f'{escape(one_line(asked))}</a></td><td class="text why">{escape(one_line(why) or "no reason was given")}'
        yield f"<details><summary>which</summary>{shown}</details></td><td>{len(operators)}</td></tr>"
    yield "</tbody></table></div>"


def property_lines(names: Names) -> Iterator[str]:
    """Yield the description of each property, an example and the fix."""
    known = {each.name: each for each in PROPERTIES}
    for name, id in names.properties.items():
        yield f'<section class="property" id="{id}"><h3>{escape(one_line(name))}</h3>'
        if name in known:
            found = known[name]
            yield f'<p>{escape(found.title)} <span class="faint">({escape(found.group)})</span></p>'
            yield f"<p>{escape(found.finds)}</p><pre>{escape(printable(found.example))}</pre>"
            yield f"<p>{escape(found.mend)}</p>"
        yield "</section>"
