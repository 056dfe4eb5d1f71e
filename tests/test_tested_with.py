"""What is tested with what: the table of README.md, and the files of versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from records import ROOT, Record
from tested_with import ENVIRONMENTS as KNOWN
from tested_with import README, libraries, main, row, rows, section, stale, written

MAIN, DEBIAN = KNOWN[0], KNOWN[-1]
PAGE = """# Page

## Tested with

| Python | NumPy | libraries | tests | run |
| --- | --- | --- | --- | --- |

The end.
"""


def record(python: str, failed: set[str] | None = None, **versions: str) -> Record:
    found = Record(passed={"runtime/opwright_bindings/jax/tests/test_jax_native.py::test"}, failed=failed or set())
    found.environment = {"python": python, "mode": "fast", "machine": "x86_64"} | versions
    return found


def test_rows_are_replaced_and_those_of_others_stay() -> None:
    """A newer version replaces the row of its environment, wherever that stands."""
    before = written(PAGE, [line for _, line in rows({
        MAIN.record: record("3.12.1", numpy="2.4.0", jax="0.10.0"), DEBIAN.record: record("3.15.2", numpy="2.5.5"),
    })])  # fmt: skip
    assert len(section(before)[1]) == 2 and before.endswith("\nThe end.\n") and "JAX 0.10.0" in before
    made = [*rows({MAIN.record: record("3.13.0", numpy="2.5.5", jax="0.12.0.1")})]
    after = written(before, [line for _, line in made])
    assert section(after)[1] == [made[0][1], section(before)[1][1]] and "JAX 0.10.0" not in after
    assert stale(before, made) == [made[0][1]] and stale(after, made) == []


def test_versions_that_no_file_pins_may_be_newer() -> None:
    page = written(PAGE, [row(DEBIAN, record("3.15.2", numpy="2.5.5"))])
    newer = [*rows({DEBIAN.record: record("3.15.3", numpy="2.6.0")})]
    assert len(newer) == 1 and stale(page, newer) == [] and stale(PAGE, newer) == [newer[0][1]]


def test_an_environment_that_failed_has_no_row() -> None:
    assert [*rows({MAIN.record: record("3.13.0", failed={"tests/x.py::test"}, numpy="2.5.5")})] == []


def test_each_library_has_a_line() -> None:
    failed = {"runtime/opwright_bindings/dask/tests/test_dask_windows.py::test"}
    lines = [*libraries([record("3.13.0", failed, numpy="2.5.5", jax="0.12.0.1", dask="2026.8.0")])]
    assert [line.split() for line in lines if line.startswith(("JAX", "Dask"))] == [
        ["JAX", "0.12.0.1", "1", "passed,", "0", "failed"],
        ["Dask", "2026.8.0", "0", "passed,", "1", "failed"],
    ]


def test_the_check_names_what_the_page_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"{MAIN.record}.json"
    record("3.10.0", numpy="1.0").write(path)
    assert main(["--check", str(path)]) == 1
    assert "README.md has no row | 3.10 | 1.0 |" in capsys.readouterr().out


def pins(name: str, python: tuple[int, int]) -> dict[str, str]:
    """The versions of a file for a Python, by names as packages normalize them."""
    found = {}
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if match := re.match(r"([\w.-]+)==([^; ]+)(?:; python_version (<|>=) '3\.(\d+)')?$", line):
            package, version, relation, minor = match.groups()
            if relation is None or (python < (3, int(minor))) == (relation == "<"):
                found[re.sub(r"[-_.]+", "-", package).lower()] = version
        else:
            assert line.startswith("#") or not line, line
    return found


def test_the_oldest_versions_are_those_that_the_project_claims() -> None:
    """Each lower bound of what users install is the version that `make oldest` has."""
    library, core, generator = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8")) for folder in (".", "runtime", "codegen")
    )
    groups, extras = library["dependency-groups"], library["project"]["optional-dependencies"]
    given = [*core["project"]["dependencies"], *extras["symbolic"], *extras["jax"], *extras["dask"]]
    given += re.findall(r'"(\w+>=[\d.]+)"', (ROOT / "codegen" / "setup.py").read_text("utf-8"))
    given += [each for extra in generator["project"]["optional-dependencies"].values() for each in extra]
    given += [*groups["dask"], *groups["jax"], *groups["labelled"]]
    given += [each for each in groups["array-api"] if not each.startswith("pytest")]
    oldest = pins("constraints-oldest.txt", (3, 11))
    for each in given:
        match = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", each)
        assert match, each
        version = oldest[re.sub(r"[-_.]+", "-", match[1]).lower()]
        assert f"{version}.".startswith(f"{match[2]}."), (each, version)
        assert not version.removeprefix(match[2]).strip(".0"), (each, version)


@pytest.mark.parametrize(
    ("record", "file", "python"),
    [
        ("venv", "constraints.txt", (3, 13)),
        ("venv-oracle", "constraints.txt", (3, 11)),
        ("venv-oldest", "constraints-oldest.txt", (3, 11)),
    ],
)
def test_the_page_has_the_versions_that_are_pinned(record: str, file: str, python: tuple[int, int]) -> None:
    tests = next(each.tests for each in KNOWN if each.record == record)
    versions = pins(file, python)
    (found,) = [line for line in section(README.read_text("utf-8"))[1] if f"| {tests} |" in line]
    cells = [each.strip() for each in found.strip("|").split("|")]
    assert cells[1] == versions["numpy"] and f"JAX {versions['jax']}," in cells[2]
    assert f"Dask {versions['dask']}," in cells[2] and f"pandas {versions['pandas']}" in cells[2]
