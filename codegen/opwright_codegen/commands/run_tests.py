"""The commands `test`, operators judged by the gate as tests of pytest, and `bench`, operators timed."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright_codegen.commands.job import Job, modules_of
from opwright_codegen.commands.report_options import known_findings
from opwright_codegen.commands.runtime_process import project_modules
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.errors import UsageError, library_module
from opwright_codegen.findings.finding import Outcome
from opwright_codegen.findings.tests import add_tests

__all__ = ["run_bench", "run_tests"]

# pytest's exit status: all passed, some failed. The rest (interrupted, wrong usage, no tests) is not about operators.
_TOLD = (0, 1)


def run_tests(job: Job | None, arguments: Namespace, outcome: Outcome) -> int:
    """Run pytest with the operators of the namespaces, by default those of the project's schemas, and nothing else.

    0 where nothing is found but what the project's baseline knows, 1 where something is, 2 where there is nothing to
    test. With `--sharded`, print the table of dimension rules instead, judged in NumPy or by the named framework.
    Raises UsageError, SchemaErrors for a wrong baseline.
    """
    if find_spec("pytest") is None and not arguments.sharded:
        raise UsageError("`opwright test` runs pytest, which is not installed: pip install pytest")
    sets = declare(job, binds=False) if job is not None else {}
    namespaces = arguments.namespaces or tuple(sets)
    if not namespaces:
        raise UsageError("name the namespaces to test, or the project's schemas in [tool.opwright]")
    found, environment = modules_of(job, tuple(sets), namespaces)
    modules = [*found, *arguments.modules]
    if arguments.sharded:
        by = arguments.sharded
        modules += [f"{each}_{by.partition('-')[0]}" for each in found] if by != "numpy" else []
        options = ["--by", by, *["--table-only"] * arguments.table_only, *["--markdown"] * arguments.markdown]
        table = [
            sys.executable,
            "-m",
            library_module("opwright_gate.sharding_table"),
            *_each("--load", modules),
            *options,
            *namespaces,
        ]
        return subprocess.run(table, env=environment, check=False).returncode
    command = [sys.executable, "-m", "pytest", "-p", "opwright_pytest", "-p", "no:cacheprovider", "--noconftest"]
    command += [
        "-o",
        "addopts=",
        "--opcheck-only",
        *_each("--opcheck", namespaces),
        *_each("--opcheck-import", modules),
    ]
    command += ["-v"] if arguments.verbose else ["-q"]
    command += ["-k", arguments.keyword] if arguments.keyword else []
    known = known_findings(None, job.root if job else Path.cwd())
    with TemporaryDirectory(prefix="opwright_test_") as folder:
        file, written = Path(folder) / "known.json", Path(folder) / "tests.xml"
        file.write_text(json.dumps(known), encoding="utf-8")
        command += ["--opcheck-known", str(file)]
        if arguments.format == "text":
            status = subprocess.run(command, env=environment, check=False).returncode
        else:  # what is printed is the findings alone
            command += ["--junitxml", str(written)]
            status = subprocess.run(command, env=environment, check=False, stdout=sys.stderr.fileno()).returncode
            if status in _TOLD:
                add_tests(outcome, written, _places(sets.values()))
    return status if status in _TOLD else 2


def run_bench(words: Sequence[str]) -> int:
    """Run `bench` in the process of the runtime, which has its options; return the exit status. Without targets it is
    told the project's. Raises UsageError, SchemaErrors."""
    namespaces, modules, environment = project_modules()
    told = [*_each("--load", modules), *_each("--project", namespaces)]
    command = [sys.executable, "-m", library_module("opwright_gate.bench.command"), *told, *words]
    return subprocess.run(command, env=environment, check=False).returncode


def _places(sets: Iterable[DeclaredSet]) -> dict[str, tuple[str, int]]:
    """Return the file and line that declare each operator of the project."""
    found = (each for declared in sets for each in declared.all)
    return {each.name: (each.location.source.shown_path(), each.location.line) for each in found}


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
