"""The HTML page: read by a parser, and opened in a browser where there is one."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import report_samples
from browsers import browser, shown
from report_samples import KNOWN, PROGRAM, TODAY

from opwright_gate.properties import PROPERTIES
from opwright_gate.reports import write_report
from opwright_gate.verdicts import Report, Verdict

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """What a page has: elements in order with their attributes and texts, each closed as it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.elements[at][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [(attributes, "".join(texts)) for name, attributes, texts in self.elements if name == tag]


def written(report: Report | None = None) -> str:
    stream = io.StringIO()
    write_report(report or report_samples.report(), "html", stream, known=KNOWN, today=TODAY)
    return stream.getvalue()


def test_every_link_has_its_target() -> None:
    page = Page(written())
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = {attributes["href"] for attributes, _ in page.all("a")}
    assert {"#findings", "#holes", "#properties", "#finding-0", "#hole-0"} <= links
    assert links <= {f"#{name}" for name in ids}


def test_every_operator_and_every_verdict_is_there() -> None:
    page, report = Page(written()), report_samples.report()
    rows = [attributes["data-operator"] for attributes, _ in page.all("tr") if "data-operator" in attributes]
    assert set(rows) == set(report.by_operator) and len(rows) == len(report.by_operator) + 1  # one on two backends
    cells = [attributes for attributes, _ in page.all("td") if "title" in attributes]
    kinds = [attributes["class"] for attributes in cells]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"held": 10, "broken": 2, "known": 1, "undecided": 2}
    assert len(page.all("article")) == len(report.findings)


def test_a_program_is_there_to_be_copied() -> None:
    programs = [text for _, text in Page(written()).all("pre")]
    assert PROGRAM.rstrip("\n") in programs


def test_nothing_of_a_stranger_is_more_than_text() -> None:
    page = Page(written())
    assert len(page.all("script")) == 1
    assert {name for _, attributes, _ in page.elements for name in attributes if name.startswith("on")} == set()
    assert page.all("link") == page.all("img") == []
    policy = next(attributes["content"] for attributes, _ in page.all("meta") if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert not [attributes for _, attributes, _ in page.elements if "style" in attributes]  # the policy refuses them
    assert re.findall(r"https?://|@import|url\(", written()) == []


def test_properties_have_entries() -> None:
    report = Report(tuple(Verdict("demo::f", each.name, "held") for each in PROPERTIES), "demo", 0.0, 0)
    page = Page(written(report))
    assert len([1 for attributes, _ in page.all("section") if attributes.get("class") == "property"]) == len(PROPERTIES)


# What the page's program is asked in a browser, by keys and clicks as a reader would; the title says what came of it.
_ASKED = """
<script>
addEventListener("load", () => {
  const rows = () => [...document.querySelectorAll("#table tbody tr")].filter((row) => !row.hidden);
  const names = () => rows().map((row) => row.dataset.operator).join(" ");
  const said = [rows().length];
  const search = document.getElementById("search");
  search.value = "SCALE";
  search.dispatchEvent(new Event("input"));
  said.push(names(), document.querySelectorAll("article:not([hidden])").length);
  search.value = "";
  search.dispatchEvent(new Event("input"));
  const shown = document.getElementById("shown");
  shown.value = "broken";
  shown.dispatchEvent(new Event("change"));
  said.push(rows().length);
  shown.value = "all";
  shown.dispatchEvent(new Event("change"));
  const broken = [...document.querySelectorAll("#table th button")].find((each) => each.textContent === "broken");
  broken.click();
  const first = names().split(" ")[0];
  broken.click();
  said.push(first !== names().split(" ")[0], broken.closest("th").getAttribute("aria-sort"));
  const links = [...document.querySelectorAll("a")].map((each) => each.getAttribute("href"));
  said.push(links.every((each) => document.querySelector(each) !== null));
  document.body.innerHTML = "";
  document.title = JSON.stringify(said);
});
</script>
</body>"""


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """Sorting, search and links, in headless Chromium. The policy of the page admits no other script: it is lifted."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", written())
    (tmp_path / "page.html").write_text(text.replace("</body>", _ASKED), encoding="utf-8")
    page = shown(browser(), tmp_path, (tmp_path / "page.html").as_uri())
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert title is not None
    assert title[1] == '[6,"demo::scale demo::scale",2,2,true,"descending",true]'


def test_the_page_runs_its_program_under_its_policy(tmp_path: Path) -> None:
    """The count of rows is what the program writes."""
    (tmp_path / "page.html").write_text(written(), encoding="utf-8")
    page = shown(browser(), tmp_path, (tmp_path / "page.html").as_uri())
    assert '<span id="count" class="faint">6 of 6</span>' in page
