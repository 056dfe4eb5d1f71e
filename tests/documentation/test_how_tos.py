"""How-tos: each in a folder of its own, with the output that it shows, and short."""

from __future__ import annotations

from pathlib import Path

import pytest
from running_pages import run_pages

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = sorted({*FOLDER.glob("*.md")} - {FOLDER / "README.md"})


def test_each_fits_a_page_and_is_in_the_list() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"({page.name})" not in index] == []
    assert [page.name for page in PAGES if len(page.read_text(encoding="utf-8").splitlines()) > 60] == []


@pytest.mark.once  # commands of the generator and the gate; what blocks of Python compute is tested in both modes
def test_blocks_run_as_they_stand(tmp_path: Path) -> None:
    folders = [tmp_path / page.stem for page in PAGES]
    for folder in folders:
        folder.mkdir()
    assert run_pages(list(zip(PAGES, folders, strict=True))) == []
