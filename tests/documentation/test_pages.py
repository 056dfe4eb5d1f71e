"""The Python blocks of pages, run in the order they stand in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("operators_are_dropped")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["custom-operators.md"])
def test_python_blocks_run(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks
    for block in blocks:
        lines_before = text.count("\n", 0, block.start(1))
        exec(compile("\n" * lines_before + block[1], str(DOCS / page), "exec"), names)
