from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def operators_are_dropped() -> Iterator[None]:
    """No operator of one test is left for the next: errors that a test caught hold frames that hold them."""
    yield
    gc.collect()
