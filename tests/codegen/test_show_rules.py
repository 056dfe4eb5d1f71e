"""The command `rules`, and the page of all rules that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.cli import main


def test_the_page_of_rules_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/rules.md is what the command prints, and every rule says what it is."""
    config = str(Path(__file__).parents[2] / "pyproject.toml")
    assert main(["rules", "--markdown", "--config", config]) == 0
    page = capsys.readouterr().out
    assert page == (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    assert len(sections) > 90 and all(section.rpartition("```")[2].strip() for section in sections)


def test_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "cat"]) == 0
    assert capsys.readouterr().out.startswith("cat(tensors: ")
    assert main(["rules", "pontwise"]) == 1
    assert "did you mean 'pointwise'?" in capsys.readouterr().err
