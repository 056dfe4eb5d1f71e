"""What each environment ran: a record of every run, so that the next environment runs what this one could not.

The suite runs in several environments: one as the README makes it, one that has PyTorch and CuPy besides.
`--record FILE` writes what a run passed, failed and skipped. `--leave-out FILE` leaves out what a recorded run passed,
so that no test runs twice. As a program, `python tests/records.py FILE...` names the tests that no environment ran, and
the entries of tables of differences (`excuses.py`) that excused nothing in any, and fails if there are any.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import excuses
import pytest

ROOT = Path(__file__).parents[1]
READ = ("codegen", "generated", "runtime", "schemas", "templates", "tests", "examples", "docs", "pyproject.toml")
# What continuous integration may not run: it has no GPU and not always a browser, and exhaustive sweeps are run before
# a release.
LEFT_OUT = (
    "needs a GPU",
    "needs a browser",
    "needs another shell",
    "needs the history",
    "there is no clang-format",
    "slow: ",
)
# Whose versions are in a record: what operators are given to, and what computes them.
LIBRARIES = (
    *("numpy", "ml_dtypes", "torch", "jax", "dask", "xarray", "pandas", "scipy", "scikit-learn", "cupy-cuda13x"),
    *("numba", "apache-tvm-ffi", "triton"),
)
DECLARED = "opwright.excuses"  # what a worker of pytest-xdist hands over at its end
LEFT = "opwright.left_out"


_LEFT = pytest.StashKey[dict[str, str]]()


@dataclass
class Record:
    """The outcome of each test of a run, by its id. A module that was skipped whole stands under the module's id."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)  # entries of tables, and what runs each has need of
    excused: set[str] = field(default_factory=set)  # those that a test had need of
    is_slow: bool = False  # a run with --slow
    environment: dict[str, str] = field(default_factory=dict)  # of Python, the mode and libraries, what was there
    seconds: dict[str, float] = field(default_factory=dict)  # each test, with all that it was parametrized with

    def add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            place = report.longrepr
            self.skipped[report.nodeid] = place[2] if isinstance(place, tuple) else str(place)
        elif report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)
        if not report.skipped:
            test = report.nodeid.partition("[")[0]
            self.seconds[test] = self.seconds.get(test, 0) + getattr(report, "duration", 0)
        self.excused.update(
            str(key) for name, key in getattr(report, "user_properties", ()) if name == excuses.PROPERTY
        )

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shown = asdict(self) | {"passed": sorted(self.passed - self.failed), "failed": sorted(self.failed)}
        shown["excused"] = sorted(self.excused)
        shown["seconds"] = {test: round(self.seconds[test], 2) for test in sorted(self.seconds)}
        path.write_text(json.dumps(shown, indent=1), encoding="utf-8")


def read(path: Path) -> Record:
    shown = json.loads(path.read_text(encoding="utf-8"))
    sets = {name: set(shown[name]) for name in ("passed", "failed", "excused")}
    return Record(**shown | sets)


def environment() -> dict[str, str]:
    """The versions of this Python and of LIBRARIES, and whether the compiled core runs."""
    from opwright import dispatch

    found = {"python": platform.python_version(), "mode": dispatch.core().name, "machine": platform.machine()}
    for name in LIBRARIES:
        try:
            found[name] = version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
    return found


def is_older_than_the_sources(path: Path) -> bool:
    """Whether anything that a test may read has changed since the record was written."""
    files = (file for name in READ for file in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name]))
    return any(
        file.stat().st_mtime > path.stat().st_mtime
        for file in files
        if file.suffix in (".py", ".pyi", ".j2", ".yaml", ".lark", ".toml", ".md", ".c", ".h")
    )


class Recorder:
    """Writes the record at the end of a run."""

    def __init__(self, path: Path, is_slow: bool) -> None:
        self.path = path
        self.record = Record(is_slow=is_slow)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.record.add(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.record.add(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        said = getattr(node, "workeroutput", {})
        self.record.declared.update(said.get(DECLARED, {}))
        self.record.skipped.update(said.get(LEFT, {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for reason, count in Counter(self.record.skipped.values()).most_common(3):
            terminalreporter.write_line(f"skipped: {count:,} ({reason})")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self.record.declared.update(excuses.declared)
        self.record.environment = environment()
        self.record.write(self.path)


class Reporter:
    """Says in the report of each test which entries of tables it had need of."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        try:
            yield
        finally:
            excuses.hand_over(item)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):  # a worker of pytest-xdist, which has loaded the tables
            session.config.workeroutput[DECLARED] = excuses.declared
            session.config.workeroutput[LEFT] = session.config.stash.get(_LEFT, {})


class LeaveOut:
    """Deselects what a recorded run passed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed: set[str] = set() if self.is_useless() else read(path).passed

    def is_useless(self) -> bool:
        return not self.path.exists() or is_older_than_the_sources(self.path)

    def pytest_report_header(self) -> str:
        if not self.passed:
            return "every test runs: no run is on record, or sources have changed since"
        when = time.strftime("%H:%M", time.localtime(self.path.stat().st_mtime))
        return f"left out: the {len(self.passed):,} tests that the run of {when} passed ({self.path.name})"

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        again = [item for item in items if item.nodeid in self.passed]
        if again:
            config.hook.pytest_deselected(items=again)
            items[:] = [item for item in items if item.nodeid not in self.passed]


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--record", metavar="FILE", type=Path, help="write what passed, failed and was skipped")
    parser.addoption("--leave-out", metavar="FILE", type=Path, help="leave out what a recorded run passed")


def leave_out(config: pytest.Config, items: list[pytest.Item], left: dict[str, str]) -> None:
    """Skip tests, each for its reason. A worker of pytest-xdist tells that of all at its end: there are thousands."""
    if hasattr(config, "workerinput"):
        items[:] = [item for item in items if item.nodeid not in left]
        config.stash[_LEFT] = left
        return
    for item in items:
        if item.nodeid in left:
            item.add_marker(pytest.mark.skip(reason=left[item.nodeid]))


def configure(config: pytest.Config) -> None:
    if (path := config.getoption("--leave-out")) is not None:
        config.pluginmanager.register(LeaveOut(path))
    if (path := config.getoption("--record")) is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(path, bool(config.getoption("--slow", False))))
    config.pluginmanager.register(Reporter())


def skipped_everywhere(records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Tests that some run skipped and none ran, with the last reason; those of LEFT_OUT do not count."""
    records = list(records)
    ran = {test for record in records for test in record.passed | record.failed}
    ran |= {test.partition("::")[0] for test in ran}
    for test, reason in {test: why for record in records for test, why in record.skipped.items()}.items():
        if test not in ran and not any(text in reason for text in LEFT_OUT):
            yield test, reason


def excusing_nothing(records: Iterable[Record]) -> Iterator[str]:
    """Entries of tables that no test had need of, but for those that need what no run had."""
    records = list(records)
    excused = {key for record in records for key in record.excused}
    were = {"", "--slow"} if any(record.is_slow for record in records) else {""}
    declared = {key: only for record in records for key, only in record.declared.items()}
    yield from (key for key, only in declared.items() if key not in excused and only in were)


def main(paths: list[str]) -> int:
    records = [read(Path(path)) for path in paths]
    for path, record in zip(paths, records, strict=True):
        print(f"{path}: {len(record.passed)} passed, {len(record.failed)} failed, {len(record.skipped)} skipped")
    never = sorted(skipped_everywhere(records))
    for test, reason in never:
        print(f"no environment ran {test}: {reason}")
    for entry in (useless := sorted(excusing_nothing(records))):
        print(f"no difference is excused by {entry}")
    return int(bool(never or useless))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
