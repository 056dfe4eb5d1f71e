"""The tutorial: its pages run in one folder, and print the outputs that they show."""

from __future__ import annotations

from pathlib import Path

import pytest
from running_pages import agrees, read_cells, run_pages

TUTORIAL = sorted((Path(__file__).parents[2] / "docs" / "tutorial").glob("[0-9]*.md"))
pytestmark = pytest.mark.once  # builds a project: the compiled core changes nothing of what is printed


def test_a_page_shows_what_came_but_for_times_and_what_it_leaves_out() -> None:
    page = "```sh\nls\n```\n\n```\na\n```\n```yaml\n# b.yaml\n- c\n```\ntext\n```\nd\n```\n```sh excerpt\nrm\n```\n"
    assert [(each.line, each.text, each.file, each.shown) for each in read_cells(page)] == [
        (2, "ls\n", None, "a\n"),
        (9, "# b.yaml\n- c\n", "b.yaml", None),
    ]
    came = "4 created\nb\nc\nin 9 s (declare 1, write 1.5)\n"
    assert agrees("3 changed, 1 created\n…\nin 0.2 s (declare 0.11, write 2)\n", came)
    assert agrees("a\n…\nb\n", "a\nb\n") and agrees("a\n", "a  \n")
    assert agrees("[1/3] a.c\n[2/3] b.c\n[3/3] c.so\nd\n", "[1/3] b.c\n[2/3] a.c\n[3/3] c.so\nd\n")
    assert not agrees("[1/1] a.c\n", "[1/1] b.c\n") and not agrees("[1/1] a.c\nb\n", "b\n[1/1] a.c\n")
    assert not agrees("a\n", "b\n") and not agrees("a\n", "a\nb\n") and not agrees("0.25 of 3\n", "0.5 of 3\n")


def test_three_steps_need_python_and_a_compiler(tmp_path: Path) -> None:
    assert run_pages([(page, tmp_path) for page in TUTORIAL[:3]]) == []


@pytest.mark.oracle
def test_the_fourth_step_needs_frameworks(tmp_path: Path) -> None:
    for name in ("torch", "jax", "dask.array"):
        pytest.importorskip(name)
    for page in TUTORIAL[:3]:
        for cell in read_cells(page.read_text(encoding="utf-8")):
            if cell.file is not None:
                cell.write(tmp_path)
    assert run_pages([(TUTORIAL[3], tmp_path)]) == []
