"""The records of runs: what each environment ran, and what none did."""

from __future__ import annotations

from pathlib import Path

import excuses
import pytest
from excuses import Known, Table
from records import Record, main, read

pytestmark = pytest.mark.once  # pytest runs in processes of its own

pytest_plugins = ["pytester"]

SUITE = """
    import pytest
    def test_plain(): pass
    def test_oracle(): pytest.importorskip({module!r}, reason="needs the oracle")
    @pytest.mark.skipif(True, reason="needs a GPU")
    def test_gpu(): pass
"""
CONFTEST = """
    import sys
    sys.path.insert(0, {folder!r})
    import records
    def pytest_addoption(parser): records.add_options(parser)
    def pytest_configure(config): records.configure(config)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.format(folder=str(Path(__file__).parent)))
    return pytester


def test_the_second_environment_runs_what_the_first_skipped(suite: pytest.Pytester) -> None:
    first, second = suite.path / "first.json", suite.path / "second.json"
    suite.makepyfile(SUITE.format(module="nowhere_to_be_found"))
    suite.runpytest_subprocess("--record", first).assert_outcomes(passed=1, skipped=2)
    suite.makepyfile(SUITE.format(module="json"))  # what the second environment has
    ran = suite.runpytest_subprocess("--leave-out", first, "--record", second)
    ran.assert_outcomes(passed=1, skipped=1, deselected=1)
    assert [test.rpartition("::")[2] for test in read(second).passed] == ["test_oracle"]
    assert main([str(first), str(second)]) == 0


def test_what_every_environment_skips_is_named(suite: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    record = suite.path / "only.json"
    suite.makepyfile(SUITE.format(module="nowhere_to_be_found"))
    suite.runpytest_subprocess("--record", record)
    assert main([str(record)]) == 1
    shown = capsys.readouterr().out
    assert "::test_oracle: needs the oracle" in shown.replace("Skipped: ", "") and "test_gpu" not in shown


def test_a_module_skipped_whole_is_named(suite: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    record = suite.path / "only.json"
    suite.makepyfile('import pytest\npytest.importorskip("nowhere_to_be_found")\ndef test(): pass\n')
    suite.runpytest_subprocess("--record", record)
    assert main([str(record)]) == 1
    assert "no environment ran test_a_module_skipped_whole_is_named.py" in capsys.readouterr().out


TABLES = """
    import pytest
    from excuses import Known, Table
    KNOWN = Table(
        "KNOWN",
        Known("add", "int.*: values", "used"),
        Known("add", ": values", "what stands before it covers all"),
        Known("mul", ": strides", "nothing differs"),
        Known("sub", ": dtype", "of many samples one differs", "--slow"),
        Known("div", ": values", "a vectorised loop", "some CPUs"),
    )
    @pytest.mark.parametrize("number", range(4))
    def test_add(number): assert KNOWN.covers("add", "(int64[3]): values 1, not 2")
    def test_mul(): assert not KNOWN.covers("mul", "(int64[3]): shape (3,), not (4,)")
"""


@pytest.mark.parametrize("options", [("-p", "no:xdist"), ("-n", "2")], ids=["one process", "two workers"])
def test_entries_that_excuse_nothing_are_named(
    suite: pytest.Pytester, capsys: pytest.CaptureFixture[str], options: tuple[str, str]
) -> None:
    record = suite.path / "record.json"
    suite.makepyfile(TABLES)
    suite.runpytest_subprocess(*options, "--record", record).assert_outcomes(passed=5)
    assert main([str(record)]) == 1
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("no difference")]
    assert named == [
        "no difference is excused by KNOWN: 'add' with ': values'",
        "no difference is excused by KNOWN: 'mul' with ': strides'",
    ]


def test_an_entry_counts_that_another_environment_had_need_of(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    Record(declared={"one": "", "rare": "--slow"}).write(first)
    assert main([str(first)]) == 1
    Record(declared={"one": ""}, excused={"one"}).write(second)
    assert main([str(first), str(second)]) == 0
    Record(declared={"rare": "--slow"}, is_slow=True).write(second)
    Record(declared={"one": ""}, excused={"one"}).write(first)
    assert main([str(first), str(second)]) == 1


def test_a_condition_on_what_was_given_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excuses, "declared", {})
    odd = Known("f", ": values", "odd numbers", when=lambda given: bool(given % 2))
    table = Table("a table", odd, Known("g", ": values", "all"))
    assert table.is_about("f", 3) and not table.is_about("f", 2) and not table.is_about("h", 3)
    assert odd.covers("f", ": values", 3) and not odd.covers("f", ": shape", 3) and not odd.covers("f", ": values", 2)
    assert list(excuses.declared) == ["a table: 'f' with ': values' (odd numbers)", "a table: 'g' with ': values'"]
    with pytest.raises(ValueError, match="no run could tell apart"):
        Table("another", Known("f", "", "one"), Known("f", "", "another"))
