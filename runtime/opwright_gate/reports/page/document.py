"""The page around its sections: head, totals, tools.

All untrusted text is escaped. The page also has a content security policy: browsers run its own program and style only.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Final, TextIO

from opwright_gate.reports.baseline import KINDS, Standing
from opwright_gate.reports.page.sections import Names, finding_lines, hole_lines, property_lines
from opwright_gate.reports.page.table import table_lines
from opwright_gate.reports.texts import one_line

__all__ = ["write_page"]

_PARTS: Final = {
    "operators": "Operators",
    "findings": "Findings",
    "holes": "Not decided",
    "properties": "Properties",
}


def write_page(standing: Standing, stream: TextIO) -> None:
    """Write the page of a report to a stream."""
    names = Names.of(standing)
    parts = {
        "operators": table_lines(standing, names),
        "findings": finding_lines(standing, names),
        "holes": hole_lines(standing, names),
        "properties": property_lines(names),
    }
    stream.writelines(f"{line}\n" for line in _head(standing))
    for key, lines in parts.items():
        stream.write(f'<section id="{key}">\n<h2>{_PARTS[key]}</h2>\n')
        stream.writelines(f"{line}\n" for line in lines)
        stream.write("</section>\n")
    stream.write("</main>\n")
    stream.write('<footer class="faint">Written by <code>opwright gate --format html</code>.</footer>\n')
    stream.write(f"<script>{_text('page.js')}</script>\n</body>\n</html>\n")


def _head(standing: Standing) -> Iterator[str]:
    report = standing.report
    title = escape(f"opwright gate: {one_line(report.target)}")
    allowed = f"default-src 'none'; style-src '{_digest('page.css')}'; script-src '{_digest('page.js')}'"
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<meta http-equiv=\"Content-Security-Policy\" content=\"{allowed}; base-uri 'none'; form-action 'none'\">"
    yield f"<title>{title}</title>"
    yield f"<style>{_text('page.css')}</style></head>"
    yield f"<body>\n<header>\n<h1>{title}</h1>"
    versions = (f"{name} {version}" for name, version in report.versions.items())
    facts = (*versions, f"seed {report.seed}", f"{report.seconds:.1f} s")
    yield f'<p class="faint">{escape(one_line(" · ".join(facts)))}</p>'
    yield '<ul class="totals">'
    yield f"<li><b>{len(report.by_operator)}</b>operators</li>"
    for kind in KINDS:
        yield f'<li><b class="{kind}">{standing.counts[kind]}</b>{kind}</li>'
    yield f"<li><b>{standing.percent:.1f} %</b>held of decided</li>"
    yield "</ul>"
    links = (f'<a href="#{key}">{name}</a>' for key, name in _PARTS.items())
    yield f"<nav>{' '.join(links)}</nav>\n</header>\n<main>"
    yield (
        '<div class="tools"><input id="search" type="search" placeholder="search operators ( / )" '
        'aria-label="search operators" autocomplete="off"><select id="shown" aria-label="which operators">'
        '<option value="all">all operators</option><option value="broken">with findings</option>'
        '<option value="known">with known findings</option><option value="undecided">with holes</option></select>'
        '<span id="count" class="faint"></span></div>'
    )


def _text(name: str) -> str:
    return f"\n{files(__package__).joinpath(name).read_text(encoding='utf-8')}"


def _digest(name: str) -> str:
    """Return the hash of a text for the content security policy."""
    return "sha256-" + b64encode(hashlib.sha256(_text(name).encode()).digest()).decode()
