"""docs/pytorch.md says what of PyTorch is there, and is fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from pytorch_names import groups, page

pytestmark = pytest.mark.oracle
PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_page_is_fresh(update_golden: bool) -> None:
    if update_golden:
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_group_has_names() -> None:
    assert [group.title for group in groups() if not group.theirs] == []
