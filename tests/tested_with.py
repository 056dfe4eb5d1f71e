"""The table "Tested with" of README.md, made of records: `tested_with.py RECORD...` (records.py).

A row is an environment: its Python, NumPy and libraries, and which tests passed there. Without options the program
prints the rows of the records. `--write` puts them into README.md, and keeps the rows of other environments. `--check`
fails if a row of README.md names other versions than a record has; versions that no file pins may be newer.
`--libraries` prints each library's version, and how many of the tests that name it passed: `make newest`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from records import LIBRARIES, ROOT, Record, read

README = ROOT / "README.md"
HEADING = "## Tested with"
COLUMNS = ("Python", "NumPy", "libraries", "tests", "run")
NAMES = {
    "torch": "PyTorch", "jax": "JAX", "dask": "Dask", "xarray": "xarray", "pandas": "pandas", "scipy": "SciPy",
    "scikit-learn": "scikit-learn", "numba": "Numba", "apache-tvm-ffi": "tvm-ffi", "triton": "Triton",
    "cupy-cuda13x": "CuPy", "numpy": "NumPy", "ml_dtypes": "ml_dtypes",
}  # fmt: skip
# What a library is called in the tests that use it, where that is not its name.
MODULES = {"scikit-learn": "sklearn", "cupy-cuda13x": "cupy", "apache-tvm-ffi": "tvm_ffi"}
CI = "continuous integration"
OF_DEBIAN = "continuous integration as root; `make newest-python`"


@dataclass(frozen=True)
class Environment:
    """An environment whose runs make a row, by the name of its record."""

    record: str
    tests: str
    run: str = CI
    is_pinned: bool = True
    shown: tuple[str, ...] = ()  # of its libraries; else all


OF_ARRAYS = ("jax", "dask", "xarray", "pandas", "scipy", "scikit-learn")
BOTH = "core, autograd, fakes, C kernels; a wheel that another Python built"
ENVIRONMENTS = (
    Environment("venv", "all except those with PyTorch"),
    Environment("venv-bare-pure", "the runtime in Python alone, without other libraries"),
    Environment("venv-oracle", "those with PyTorch", shown=("torch", "cupy-cuda13x", *OF_ARRAYS)),
    Environment("triton", "Triton's interpreter", shown=("triton",)),
    Environment("venv-oldest", "core, earlier packages, JAX, Dask: the oldest versions", shown=OF_ARRAYS),
    Environment("python3.14", BOTH, OF_DEBIAN, is_pinned=False),
    Environment("python3.14-pure", "the same in Python alone", OF_DEBIAN, is_pinned=False),
    Environment("python3.15", BOTH, OF_DEBIAN, is_pinned=False),
    Environment("python3.15-pure", "the same in Python alone", OF_DEBIAN, is_pinned=False),
)


def row(environment: Environment, record: Record) -> str:
    found = record.environment
    named = [name for name in LIBRARIES[2:] if name in found and (not environment.shown or name in environment.shown)]
    libraries = ", ".join(f"{NAMES[name]} {found[name]}" for name in named) or "–"
    python = ".".join(found["python"].split(".")[:2])
    return f"| {python} | {found['numpy']} | {libraries} | {environment.tests} | {environment.run} |"


def rows(records: dict[str, Record]) -> Iterator[tuple[Environment, str]]:
    """Yield the environments that ran without a failure, and the row of each."""
    for environment in ENVIRONMENTS:
        record = records.get(environment.record)
        if record and record.environment and record.passed and not record.failed:
            yield environment, row(environment, record)


def section(text: str) -> tuple[str, list[str], str]:
    """Return the page up to the rows of the table, the rows, and the rest."""
    before, heading, after = text.partition(HEADING)
    above, rule, below = after.partition(f"| {' | '.join(['---'] * len(COLUMNS))} |\n")
    assert heading and rule, f"README.md has no table under {HEADING!r}"
    table = re.match(r"(?:\|.*\n)*", below)
    assert table
    return before + heading + above + rule, table[0].splitlines(), below[table.end() :]


def tests_of(line: str) -> str:
    """Return the two columns that tell one row from another: the tests, and who runs them; the Python for Debian's."""
    cells = [each.strip() for each in line.strip("|").split("|")]
    return " ".join(cells[3:] + ([cells[0]] if cells[4] == OF_DEBIAN else []))


def written(text: str, made: Iterable[str]) -> str:
    """Return the page with the rows that were made in the places of the old ones, new ones at the end."""
    above, old, below = section(text)
    new = {tests_of(line): line for line in made}
    kept = [new.pop(tests_of(line), line) for line in old]
    return above + "".join(f"{line}\n" for line in [*kept, *new.values()]) + below


def stale(text: str, made: Iterable[tuple[Environment, str]]) -> list[str]:
    """Return the rows of what ran that the page does not have; of environments that no file pins, those without row."""
    _, old, _ = section(text)
    known = {tests_of(line) for line in old}
    return [
        line
        for environment, line in made
        if (line not in old if environment.is_pinned else tests_of(line) not in known)
    ]


@cache
def names(file: str, library: str) -> bool:
    """Return whether a test file names a library."""
    path = ROOT / file
    module = MODULES.get(library, library)
    return path.is_file() and re.search(rf"\b{module}\b", path.read_text("utf-8")) is not None


def libraries(records: Iterable[Record]) -> Iterator[str]:
    """Yield a line for each library of the records: its version, and how many tests that name it passed and failed."""
    records = list(records)
    for library in LIBRARIES:
        with_it = [record for record in records if library in record.environment]
        versions = " and ".join(sorted({record.environment[library] for record in with_it}))
        passed = [test for record in with_it for test in record.passed if names(test.partition("::")[0], library)]
        failed = [test for record in with_it for test in record.failed if names(test.partition("::")[0], library)]
        if with_it:
            yield f"{NAMES[library]:14} {versions:22} {len(passed):6,} passed, {len(failed):,} failed"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description='Make the table "Tested with" of README.md from records.')
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="put the rows into README.md")
    parser.add_argument("--check", action="store_true", help="fail if README.md has other rows")
    parser.add_argument("--libraries", action="store_true", help="print the result of each library instead")
    given = parser.parse_args(words)
    records = {path.stem: read(path) for path in given.records}
    if given.libraries:
        print(*libraries(records.values()), sep="\n")
        return 0
    made = list(rows(records))
    text = README.read_text("utf-8")
    if given.write:
        README.write_text(written(text, [line for _, line in made]), "utf-8")
        return 0
    wrong = stale(text, made) if given.check else []
    for line in wrong:
        print(f"README.md has no row {line}: tests/tested_with.py --write build/tests/*.json")
    if not given.check:
        print(*[line for _, line in made], sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
