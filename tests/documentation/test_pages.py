"""The Python blocks of the README and of each page, run in the order they stand in, each page in a process of its own.

A block that is part of a larger program is marked as `python excerpt`, and not run. Nor is one that begins with the
name of a file (`# shapes.py`): tests of these pages write such files and use them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from python_copies import run_python

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "codegen", "docs", "examples", "generated", "runtime", "schemas", "templates", "tests")
PAGES = [
    path
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted(ROOT.glob("runtime/opwright_bindings/*/README.md")),
    )
    if "```python\n" in path.read_text()
]


def program(text: str) -> str:
    """The blocks, each on the lines that it has in the page."""
    kept: list[str] = []
    for block in re.finditer(r"^```python\n(?!# \w+\.py\n)(.*?)^```", text, re.DOTALL | re.MULTILINE):
        kept += [""] * (text.count("\n", 0, block.start(1)) - len(kept))
        kept += block[1].splitlines()
    return "\n".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_blocks_run(page: Path) -> None:
    ran = run_python("-c", program(page.read_text(encoding="utf-8")), cwd=ROOT)
    assert ran.returncode == 0, ran.stderr


def test_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    wrong = []
    for page in pages:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", text):
            if not (page.parent / target).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert wrong == []
