"""`opwright generate --watch`: generates whenever a file is saved that the output follows from."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from opwright_codegen.commands.generate import generate
from opwright_codegen.commands.job import Job
from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.findings.finding import Outcome
from opwright_codegen.findings.text import write_findings

__all__ = ["watch"]

_SUFFIXES: Final = (".yaml", ".yml", ".py", ".toml", ".cu", ".cuh", ".c", ".h", ".json")
_WAKES: Final = 2000  # milliseconds, after which times of files are looked at: changes are told at once


def watch(read_job: Callable[[], Job], arguments: Namespace, out: TextIO) -> int:
    """Run `generate`, and again after each change, until somebody interrupts. `read_job` reads the settings, which may
    change, too. Raises UsageError without watchfiles."""
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise UsageError("--watch needs watchfiles, which is not installed: pip install watchfiles") from None
    if arguments.format != "text" or arguments.check or arguments.diff or arguments.dry_run:
        raise UsageError("--watch writes files and prints text: leave --format, --check, --diff and --dry-run out")
    job = read_job()
    while True:
        before = _times(job)
        _run(job, arguments, out)
        # Reading schemas makes more files known, as those of CUDA: they are as they were read.
        before = {path: before.get(path, saved) for path, saved in _times(job).items()}
        folders = _folders(job)
        print(f"watching {len(folders)} folder{'s' * (len(folders) != 1)}: ^C ends", file=out, flush=True)
        wanted = partial(_is_input, outputs=_outputs(job))
        coming = changes(
            *folders,
            watch_filter=wanted,
            recursive=False,
            raise_interrupt=False,
            yield_on_timeout=True,
            rust_timeout=_WAKES,
        )
        # It watches from the first time that it is asked: what was saved until then shows in the times of files.
        if not any(found or _times(job) != before for found in coming):
            return 0
        try:
            job = read_job()
        except UsageError as error:  # the settings are being written: what they were is watched on
            print(f"opwright: {error}", file=sys.stderr)


def _run(job: Job, arguments: Namespace, out: TextIO) -> None:
    """Run `generate` once; errors of schemas are shown, and mended by the next change."""
    try:
        generate(job, arguments, out)
    except SchemaError as error:
        outcome = Outcome("generate")
        outcome.add(error)
        write_findings(outcome.findings, sys.stderr)
        sys.stderr.flush()


def _inputs(job: Job) -> tuple[Path, ...]:
    """Return the files that the output follows from, as far as they are known."""
    try:
        return job.inputs()
    except SchemaError:  # a module of kernels is missing, or is being written
        return job.data


def _times(job: Job) -> dict[Path, int]:
    """Return when the files of a job were saved last, as far as they are there."""
    return {path: path.stat().st_mtime_ns for path in _inputs(job) if path.is_file()}


def _folders(job: Job) -> list[Path]:
    """Return the folders of the project that hold files which the output follows from, as far as they are there."""
    roots = [root.resolve() for root in job.roots]
    found = {job.root.resolve()}
    for path in _inputs(job):
        folder = path.resolve().parent
        if any(folder.is_relative_to(root) for root in roots):
            found.add(folder)
    return sorted(folder for folder in found if folder.is_dir())


def _outputs(job: Job) -> tuple[Path, ...]:
    folders = job.output.values() if isinstance(job.output, dict) else (job.output,)
    return tuple(folder.resolve() for folder in folders if folder is not None)


def _is_input(_: object, file: str, *, outputs: tuple[Path, ...]) -> bool:
    """Whether the output may follow from a file that changed: it is of a known kind, and no output itself."""
    path = Path(file)
    return path.suffix in _SUFFIXES and not any(path.resolve().is_relative_to(folder) for folder in outputs)
