"""A plug-in of pytest: `pytest --opcheck NAMESPACE` adds a test for each operator of a namespace and each property that
the gate asks of it.

It is a package of its own, so that pytest, which loads it always, does not load Opwright until the option is given.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("opwright", "operators of Opwright")
    group.addoption(
        "--opcheck", action="append", default=[], metavar="NAMESPACE", help="test every operator of the namespace"
    )
    group.addoption(
        "--opcheck-import", action="append", default=[], metavar="MODULE", help="a module that defines some; repeatable"
    )
    group.addoption("--opcheck-only", action="store_true", help="run no other tests")
    group.addoption("--opcheck-known", metavar="FILE", help=argparse.SUPPRESS)  # of `opwright test`: its baseline


def pytest_configure(config: pytest.Config) -> None:
    """Raise UsageError if operators are to be tested and the gate is not installed."""
    if config.getoption("--opcheck") and find_spec("opwright_gate") is None:
        raise pytest.UsageError("--opcheck runs opwright_gate, which is not installed: pip install opwright")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore all files, if operators alone are to be tested."""
    return True if config.getoption("--opcheck-only") else None


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of operators to those of files, whose modules may define some."""
    namespaces = config.getoption("--opcheck")
    if namespaces:
        for module in config.getoption("--opcheck-import"):
            _import(module)
        for namespace in namespaces:
            found = list(_items(session, namespace))
            items.extend(found)
            report = pytest.CollectReport(namespace, "passed", None, list(found))  # what counts them
            config.hook.pytest_collectreport(report=report)


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise pytest.UsageError(f"--opcheck-import {module}: {error}") from None


def _items(session: pytest.Session, namespace: str) -> Iterator[pytest.Item]:
    """Yield the tests of a namespace. Raises UsageError where it has no operators; a worker of pytest-xdist may not,
    and has a test that does."""
    from opwright_core import plugins
    from opwright_core.dispatch.registry.tables import registry
    from opwright_pytest.judged import tests_of

    plugins.load()
    found = [registry.operators[name] for name in sorted(registry.operators) if name.startswith(f"{namespace}::")]
    if not found:
        known = ", ".join(sorted({name.partition("::")[0] for name in registry.operators}))
        problem = (
            f"--opcheck {namespace}: no operator of that namespace is defined; there are the namespaces {known}. Is "
            "the module that defines them imported (--opcheck-import MODULE)?"
        )
        if not hasattr(session.config, "workerinput"):
            raise pytest.UsageError(problem)
        yield UnknownNamespace.from_parent(session, name=namespace, nodeid=namespace, problem=problem)
    yield from tests_of(session, found)


class UnknownNamespace(pytest.Item):
    """A test that fails, since there is nothing to be tested."""

    def __init__(self, *, problem: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._problem = problem

    def runtest(self) -> None:
        """Raise the error."""
        pytest.fail(self._problem, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where reports say that the test is."""
        return self.session.path, None, f"opcheck {self.name}"
