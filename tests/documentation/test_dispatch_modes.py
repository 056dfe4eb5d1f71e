"""The examples of docs/dispatch-modes.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opwright
from opwright.utils._python_dispatch import return_and_correct_aliasing

BLOCKS = re.findall(
    r"```python\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "dispatch-modes.md").read_text(encoding="utf-8"),
    flags=re.DOTALL,
)


def test_the_mode_that_counts(capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[0], {"opwright": opwright})
    shown = re.search(r"# (\{.*\})", BLOCKS[0])
    assert shown is not None and capsys.readouterr().out.strip() == shown[1]


def test_the_wrapper_that_logs(capsys: pytest.CaptureFixture[str]) -> None:
    names = {"opwright": opwright, "return_and_correct_aliasing": return_and_correct_aliasing}
    exec(BLOCKS[1], names)
    x = names["Logged"](opwright.ones(2)).requires_grad_()
    (x * x).sum().backward()
    assert type(x.grad) is names["Logged"] and x.grad.elem.tolist() == [2.0, 2.0]
    assert capsys.readouterr().out.split()[:2] == ["aten.mul.Tensor", "aten.sum.default"]
