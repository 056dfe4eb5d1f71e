"""Random programmes of recorded calls, writes, views, hooks and backward passes, side by side with PyTorch."""

from __future__ import annotations

import pytest
import seeds

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from running_programs import Programme  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SEEDS = 300


@pytest.mark.parametrize("start", range(0, SEEDS, 25))
def test_programmes(start: int) -> None:
    for seed in range(start, start + 25):
        Programme(seeds.seed(seed)).run()
