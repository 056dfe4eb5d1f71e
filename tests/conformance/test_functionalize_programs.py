"""Random programmes, eager and functionalised: the same results, inputs and gradients, and nothing else writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functional_programs import ACTIONS, RECORDED, WITHOUT_RANDOM, Step, gradient_problems, problems
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore")

DTYPES = (np.float64, np.float32, np.complex64, np.int64)
PLACES = st.integers(0, 20)


def steps(names: list[str]) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.builds(Step, st.sampled_from(sorted(names)), PLACES, PLACES), min_size=5, max_size=200)


@given(steps([*ACTIONS]), st.integers(0, 100), st.sampled_from(DTYPES))
@settings(max_examples=150, deadline=None)
def test_programmes(programme: list[Step], seed: int, dtype: Any) -> None:
    assert list(problems(programme, seed, dtype)) == []


@given(steps(WITHOUT_RANDOM), st.integers(0, 100), st.sampled_from(DTYPES))
@settings(max_examples=100, deadline=None)
def test_programmes_without_views(programme: list[Step], seed: int, dtype: Any) -> None:
    assert list(problems(programme, seed, dtype, "mutations_and_views")) == []


@given(steps(RECORDED), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_gradients(programme: list[Step], seed: int) -> None:
    assert list(gradient_problems(programme, seed)) == []
