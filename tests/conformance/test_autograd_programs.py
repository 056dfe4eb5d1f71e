"""Random programmes of recorded calls, writes, views, hooks and backward passes, side by side with PyTorch."""

from __future__ import annotations

import pytest
import seeds

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from known_programs import KNOWN, Known  # noqa: E402
from running_programs import Programme, differs  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SEEDS = 300


@pytest.mark.parametrize("start", range(0, SEEDS, 25))
def test_programmes(start: int) -> None:
    for seed in range(start, start + 25):
        Programme(seeds.seed(seed)).run()


@pytest.mark.parametrize(
    ("seed", "known"), [pytest.param(known.seed, known, id=known.reason) for known in KNOWN if known.seed is not None]
)
def test_what_is_left_out_differs(seed: int, known: Known) -> None:
    """Where actions were added or taken away, other programmes are drawn: `running_programs.py known` finds seeds."""
    assert differs(known, seed), f"{known.actions} do what PyTorch does"
