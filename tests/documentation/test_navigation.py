"""The list of pages in docs/README.md and the navigation of the site: the same pages, in the same groups and order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.once  # files alone

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def in_navigation(entries: list[Any]) -> list[str]:
    """The pages of a group, those of its parts too. Generated ones are on the site alone."""
    found: list[str] = []
    for entry in entries:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry
        found += in_navigation(inner) if isinstance(inner, list) else [inner]
    return [page for page in found if not page.startswith("reference/")]


def places() -> dict[str, str]:
    """Where pages from outside of docs/ are on the site, as its program says."""
    text = (DOCS / "site" / "pages.py").read_text(encoding="utf-8")
    return dict(re.findall(r'^    "([\w/]+\.md)": "([\w/-]+\.md)",$', text, re.MULTILINE))


def in_list(text: str) -> list[str]:
    known = places()
    found = []
    for link in re.findall(r"^\| \[[^\]]+\]\(([^)#]+)\)", text, re.MULTILINE):
        name = (DOCS / link).resolve().relative_to(ROOT).as_posix()
        page = known.get(name, name.removeprefix("docs/"))
        folder, _, last = page.rpartition("/")
        found.append(f"{folder}/" if last in ("README.md", "index.md") and folder else page)
    return found


def test_pages_are_grouped_alike() -> None:
    settings = yaml.load((DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    named = {title: inner for entry in settings["nav"] for title, inner in entry.items() if isinstance(inner, list)}
    listed = re.split(r"^## (.*)$", (DOCS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    groups = dict(zip(listed[::2], listed[1::2], strict=True))
    assert [title for title in groups if title in named] == list(named)
    assert {title: in_list(groups[title]) for title in named} == {
        title: in_navigation(inner) for title, inner in named.items()
    }
