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
from opwright_codegen.commands.job import Job, module_of, root_of
from opwright_codegen.commands.report_options import known_findings
from opwright_codegen.errors import UsageError

__all__ = ["run_tests"]

# pytest's exit status: all passed, some failed. The rest (interrupted, wrong usage, no tests) is not about operators.
_TOLD = (0, 1)


def run_tests(job: Job | None, arguments: Namespace) -> int:
    """Run pytest with the operators of the namespaces, by default those of the project's schemas, and nothing else.

    0 where nothing is found but what the project's baseline knows, 1 where something is, 2 where there is nothing to
    test. With `--sharded`, print the table of dimension rules instead.
    Raises UsageError, SchemaErrors for a wrong baseline.
    """
    if find_spec("pytest") is None and not arguments.sharded:
        raise UsageError("`opwright test` runs pytest, which is not installed: pip install pytest")
    declared = read_operators(job).namespaces if job is not None else ()
    namespaces = arguments.namespaces or declared
    if not namespaces:
        raise UsageError("name the namespaces to test, or the project's schemas in [tool.opwright]")
    packages = [job.folder(namespace, declared) for namespace in declared if namespace in namespaces] if job else []
    modules = [*map(module_of, packages), *arguments.modules]
    paths = [*map(root_of, packages), *([job.root] if job else []), Path.cwd(), os.environ.get("PYTHONPATH", "")]
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
        file = Path(folder) / "known.json"
        file.write_text(json.dumps(known), encoding="utf-8")
        status = subprocess.run([*command, "--opcheck-known", str(file)], env=environment, check=False).returncode
    return status if status in _TOLD else 2


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
