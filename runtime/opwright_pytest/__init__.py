"""A plug-in of pytest: `pytest --opcheck NAMESPACE` adds a test for each operator of a namespace and each check.

It is a package of its own, so that pytest, which loads it always, does not load Opwright until the option is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from opwright.testing import Sample
    from opwright_core.dispatch.call.operator import Operator


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
    from opwright.testing.checking import tests_of
    from opwright_core import plugins
    from opwright_core.dispatch.registry.tables import registry

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
    for operator in found:
        drawn = _Drawn(operator)
        for test in tests_of(operator, None):
            name = f"{operator.name}-{test}"
            yield OperatorTest.from_parent(session, name=name, nodeid=name, drawn=drawn, test=test)


class _Drawn:
    """The arguments that are drawn for one operator, once for all its tests."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self._samples: list[Sample] | None = None

    def samples(self) -> list[Sample]:
        """Return the arguments."""
        from opwright.testing.checking import draw_samples

        if self._samples is None:
            self._samples = draw_samples(self.operator)
        return self._samples


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


class OperatorTest(pytest.Item):
    """One check of one operator, with all arguments that are drawn for it."""

    def __init__(self, *, drawn: _Drawn, test: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._drawn = drawn
        self._test = test

    def runtest(self) -> None:
        """Check the operator; skip where no arguments are found that it takes, or its library has not been built."""
        from opwright.errors import LibraryMissingError
        from opwright.testing import opcheck_all

        try:
            found = self._drawn.samples()
        except LibraryMissingError as error:
            pytest.skip(str(error))
        if not found:
            pytest.skip("no arguments were found that the operator takes: test it with opcheck_all(op, given=[...])")
        opcheck_all(self._drawn.operator, test_utils=self._test, given=found)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what failed, without a traceback of the checks."""
        from opwright.errors import OpCheckError

        return str(excinfo.value) if isinstance(excinfo.value, OpCheckError) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where reports say that the test is."""
        return self.session.path, None, f"opcheck {self.name}"
