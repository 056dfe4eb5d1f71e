"""Options of the whole suite, and what tests of several folders are given."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest
import records
import seeds
import sweeps
from _pytest.runner import runtestprotocol
from known_versions import is_not_there

# Tests of the generator and of pages, as the mark `once`: what they generate runs the same in both modes, or `runtime/`
# and `conformance/` find out.
OF_THE_GENERATOR = ("tests/codegen/", "tests/documentation/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected output beside golden inputs")
    sweeps.add_options(parser)
    records.add_options(parser)
    seeds.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    records.configure(config)
    seeds.configure(config)
    sweeps.configure(config)
    gc.disable()  # until all is collected: what is made until then stays


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at the tests themselves: there are 28,000, and many collect."""
    gc.freeze()
    gc.enable()
    if torch := sys.modules.get("torch"):
        torch.set_warn_always(True)  # what warns once a process would depend on the tests that ran before


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if "oracle" not in item.keywords or not any(map(is_not_there, _given(item)))]
    if not sweeps.is_exhaustive:
        items[:] = [item for item in items if not _is_covered_by_forward(item)]
    is_pure = os.environ.get("OPWRIGHT_PURE", "0") not in ("", "0")
    left: dict[str, str] = {}
    for item in items:
        if "slow" in item.keywords and not sweeps.is_exhaustive:
            left[item.nodeid] = "slow: run with --slow"
        elif is_pure and ("once" in item.keywords or item.nodeid.startswith(OF_THE_GENERATOR)):
            left[item.nodeid] = "once: `make test` runs it, and the compiled core changes nothing"
    records.leave_out(config, items, left)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Report what a test did, but no setup or teardown that went well, and from a worker no start and no end, which are
    shown where one process runs all: of 30,000 tests each message of a worker costs seconds in all."""
    if item.config.getoption("durations", None) is not None:
        return None
    is_shown = not hasattr(item.config, "workerinput") or item.config.option.verbose > 0
    if is_shown:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    if is_shown:
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _is_covered_by_forward(item: pytest.Item) -> bool:
    """Whether a test of how calls are handled (the mark `calls`) is given a backward operator: what it finds out of any
    operator, the test of the forward one does."""
    return "calls" in item.keywords and any(isinstance(each, str) and sweeps.is_backward(each) for each in _given(item))


def _given(item: pytest.Item) -> list[object]:
    """What a test is parametrized with."""
    return list(item.callspec.params.values()) if hasattr(item, "callspec") else []


@pytest.fixture(autouse=True, scope="module")
def _collections_are_short() -> Iterator[None]:
    """The garbage collector looks at what a module's tests made, not at the code that those before them loaded."""
    gc.collect()
    gc.freeze()
    yield


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def operators_are_dropped() -> Iterator[None]:
    """No custom operator of one test is left for the next: errors that a test caught hold frames that hold them."""
    yield
    gc.collect()
