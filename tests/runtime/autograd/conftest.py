"""The tests here record with wrappers written by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from wrappers import installed


@pytest.fixture(autouse=True, scope="package")
def recorded() -> Iterator[None]:
    with installed():
        yield
