"""Programs written for PyTorch over our tensors: PyTorch's layers and optimizers, and its losses."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle
PROGRAMS = Path(__file__).parent / "programs"


def _same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    if isinstance(expected[1], str):
        assert found[1] == expected[1]
    else:
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-4)


@pytest.mark.parametrize("name", ["digits", "policy", "resumed", "small_gpt"])
def test_a_program_has_the_losses_of_pytorch(name: str) -> None:
    path = str(PROGRAMS / f"{name}.py")
    expected = runpy.run_path(path)["main"]()
    with opwright.as_torch():
        found = runpy.run_path(path)["main"]()
    _same(found, expected)
    assert expected[0][-1] < 0.8 * expected[0][0]
