"""Options of the whole suite."""

from __future__ import annotations

import os

import hypothesis
import pytest

# CI tries the same examples each time, so that what fails there fails everywhere; elsewhere each run tries new ones.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected output beside golden inputs")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
