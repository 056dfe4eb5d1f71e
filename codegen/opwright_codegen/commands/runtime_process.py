"""The process of the installed runtime, which the generator never imports, and what it imports of a project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from opwright_codegen.commands.config import find_config
from opwright_codegen.commands.job import job_of, modules_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import SchemaError, UsageError

__all__ = ["RuntimeProcessError", "project_modules", "run_in_runtime"]


class RuntimeProcessError(Exception):
    """A failure of a program in the runtime: the last line of its error."""


def run_in_runtime(
    program: str, arguments: Sequence[str], *, plugins: bool = True, environment: Mapping[str, str] | None = None
) -> str:
    """Return what a program of Python prints in another process, in which there may be no plug-ins.

    Raises RuntimeProcessError where it fails.
    """
    environment = {**(environment or os.environ), **({} if plugins else {"OPWRIGHT_PLUGINS": "0"})}
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise RuntimeProcessError(run.stderr.strip().rpartition("\n")[2].partition(": ")[2])
    return run.stdout


def project_modules() -> tuple[Sequence[str], list[str], dict[str, str]]:
    """Return the namespaces of the project around this folder, the modules that have their operators, and the
    environment of who imports these. Raises UsageError, SchemaErrors."""
    try:
        config = find_config(Path.cwd())
    except SchemaError as error:
        raise UsageError(str(error)) from None
    job = job_of(config) if config.schemas else None
    namespaces = tuple(declare(job, binds=False)) if job is not None else ()
    return namespaces, *modules_of(job, namespaces, namespaces)
