"""The command `test`: the operators of a project, or of namespaces, judged by the gate as tests of pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright_codegen.commands.generate import read_operators
from opwright_codegen.commands.job import Job
from opwright_codegen.commands.report_options import known_findings
from opwright_codegen.errors import UsageError
from opwright_codegen.findings.finding import Outcome
from opwright_codegen.findings.tests import add_tests
from opwright_codegen.read.model import OperatorSet

__all__ = ["run_tests"]

# pytest's exit status: all passed, some failed. The rest (interrupted, wrong usage, no tests) is not about operators.
_TOLD = (0, 1)


def run_tests(job: Job | None, arguments: Namespace, outcome: Outcome) -> int:
    """Run pytest with the operators of the namespaces, by default those of the project's schemas, and nothing else.

    0 where nothing is found but what the project's baseline knows, 1 where something is, 2 where there is nothing to
    test. With `--sharded`, print the table of dimension rules instead.
    Raises UsageError, SchemaErrors for a wrong baseline.
    """
    if find_spec("pytest") is None and not arguments.sharded:
        raise UsageError("`opwright test` runs pytest, which is not installed: pip install pytest")
    operators = read_operators(job) if job is not None else None
    declared = operators.namespaces if operators is not None else ()
    namespaces = arguments.namespaces or declared
    if not namespaces:
        raise UsageError("name the namespaces to test, or the project's schemas in [tool.opwright]")
    packages = [job.folder(namespace, declared) for namespace in declared if namespace in namespaces] if job else []
    modules = [*map(_module, packages), *arguments.modules]
    paths = [*map(_root, packages), *([job.root] if job else []), Path.cwd(), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, map(str, paths)))}
    if arguments.sharded:
        table = [sys.executable, "-m", "opwright.gate.sharding_table", *_each("--load", modules), *namespaces]
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
                add_tests(outcome, written, _places(operators))
    return status if status in _TOLD else 2


def _places(operators: OperatorSet | None) -> dict[str, tuple[str, int]]:
    """Return the file and line that declare each operator of the project."""
    found = operators.operators.values() if operators is not None else ()
    return {each.name: (each.location.source.shown_path(), each.location.line) for each in found}


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _root(package: Path) -> Path:
    """Return the folder that a package is imported from."""
    folder = package.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _module(package: Path) -> str:
    if not (package / "__init__.py").is_file():
        raise UsageError(f"{package} is no package yet: run `opwright generate` first")
    return ".".join(package.relative_to(_root(package)).parts)
