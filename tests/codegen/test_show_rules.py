"""The command `rules`, and the page of all rules that it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright_codegen.cli import main
from opwright_codegen.kernels.modules import KernelModules


def test_the_page_has_every_rule_with_its_signature_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The names are those that formulas may call: a heading for each, in order."""
    config = str(Path(__file__).parents[2] / "pyproject.toml")
    assert main(["rules", "--markdown", "--config", config]) == 0
    parts = re.split(r"^## (.*)\n", capsys.readouterr().out, flags=re.MULTILINE)
    assert parts[1::2] == sorted(KernelModules(["opwright.rules"], of="rule").public)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        signature, described = re.fullmatch(r"\n```python\n(.*)\n```\n\n(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        assert signature.startswith(f"{name}(") and " -> " in signature
        assert described.strip()


def test_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "cat"]) == 0
    assert capsys.readouterr().out.startswith("cat(tensors: ")
    assert main(["rules", "pontwise"]) == 1
    assert "did you mean 'pointwise'?" in capsys.readouterr().err
