"""Tests of what the gate asks of operators: its verdicts, as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import date
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

from opwright_core.dispatch.call.operator import Operator
from opwright_gate.properties import PROPERTIES
from opwright_gate.reports.baseline import Standing, known_from_json
from opwright_gate.run import Progress, judged
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Report, Verdict

__all__ = ["tests_of"]


def tests_of(session: pytest.Session, operators: Iterable[Operator]) -> Iterator[pytest.Item]:
    """Yield a test for each operator and each property that can be asked of it."""
    verdicts = _Verdicts(session, operators)
    for operator in operators:
        subject = Subject(operator.name, operator)
        for each in PROPERTIES:
            if each.applies(subject):
                name = f"{operator.name}-{each.name}"
                test = _Test.from_parent(session, name=name, nodeid=name, verdicts=verdicts, asked=(subject, each))
                test.extra_keyword_matches.add(each.group)
                yield test


class _Test(pytest.Item):
    """One property of one operator, which the gate judges in a process of its own."""

    def __init__(self, *, verdicts: _Verdicts, asked: tuple[Subject, Any], **keywords: Any) -> None:
        super().__init__(**keywords)
        self.verdicts = verdicts
        self.operator, self.property = asked[0].name, asked[1].name

    def runtest(self) -> None:
        """Fail where the property is broken, if that is not known; skip where it is not decided."""
        found = self.verdicts.of(self.operator, self.property)
        broken = {each: self.verdicts.why_known(each) for each in found if each.verdict == "broken"}
        if new := [each for each, reason in broken.items() if not reason]:
            pytest.fail("\n\n".join(map(_shown, new)), pytrace=False)
        if broken:
            pytest.xfail("; ".join(broken.values()))
        if undecided := [each.why for each in found if each.verdict == "undecided"]:
            pytest.skip("; ".join(undecided))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where reports say that the test is."""
        return self.session.path, None, f"opcheck {self.name}"


def _shown(verdict: Verdict) -> str:
    """Return a finding in words, with the program that shows it."""
    return f"{verdict.operator}: {verdict.cause}: {verdict.why}\n\n{verdict.program or verdict.call}".rstrip()


class _Verdicts:
    """The verdicts on the operators of a namespace. The gate starts when the first is asked for.

    All tests that are chosen are one run of the gate; in a worker of pytest-xdist, those of one operator.
    """

    def __init__(self, session: pytest.Session, operators: Iterable[Operator]) -> None:
        self._session = session
        self._modules = _modules_of(operators)
        self._found: dict[str, tuple[Verdict, ...]] = {}
        self._coming: Iterator[Progress] = iter(())
        known = session.config.getoption("--opcheck-known")
        entries = known_from_json(Path(known).read_text(encoding="utf-8")) if known else ()
        self._standing = Standing(Report((), "", 0.0, 0), entries, date.today().isoformat())

    def of(self, operator: str, name: str) -> list[Verdict]:
        """Return the verdicts on one property of an operator. Raises ValueError where it cannot be judged."""
        while operator not in self._found:
            progress = next(self._coming, None)
            if progress is None:
                self._coming = self._judge(operator)
                progress = next(self._coming)
            self._found[progress.operator] = progress.verdicts
        return [each for each in self._found[operator] if each.property == name]

    def why_known(self, verdict: Verdict) -> str:
        """Return the reason why a finding is left, "" for a new one."""
        entry = self._standing.known_as(verdict)
        return "" if entry is None else entry.reason

    def _judge(self, operator: str) -> Iterator[Progress]:
        """Yield what the gate says of all that is chosen, several operators at a time."""
        tests = [each for each in self._session.items if isinstance(each, _Test) and each.verdicts is self]
        is_alone = hasattr(self._session.config, "workerinput")
        names = {each.operator for each in tests if not is_alone or each.operator == operator}
        properties = {each.property for each in tests if each.operator in names}
        jobs = 1 if is_alone else None
        return judged(sorted(names), properties=sorted(properties), jobs=jobs, modules=self._modules)


def _modules_of(operators: Iterable[Operator]) -> list[str]:
    """Return the modules that define operators, by name if it is found again on the path, else by file."""
    files = {file: name for name, each in sys.modules.copy().items() if (file := getattr(each, "__file__", None))}
    found: dict[str, None] = {}
    for operator in operators:
        if operator.home is not None:
            found[operator.home.module.partition(".")[0]] = None
            continue
        file = str(operator.where).rpartition(" at ")[2].rpartition(":")[0]
        if file.endswith(".py"):
            name = files.get(file, "")
            found[name if PathFinder.find_spec(name.partition(".")[0]) else file] = None
    return list(found)
