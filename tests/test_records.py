"""The records of runs: what each environment ran, and what none did."""

from __future__ import annotations

from pathlib import Path

import pytest
from records import main, read

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
