"""The command `freeze`: the lock of a project, and what `check` says of it."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from opwright_codegen.commands.job import Job
from opwright_codegen.declared.declare import declare
from opwright_codegen.output.write import replace_file
from opwright_codegen.promises.lock import LOCK, lock_text

__all__ = ["freeze"]


def freeze(job: Job, out: TextIO) -> int:
    """Write what the operators of a job promise to the lock beside its settings; the status. Raises SchemaErrors."""
    operators = [each for found in declare(job, binds=False).values() for each in found.all]
    path = job.root / LOCK
    text = lock_text(operators)
    count = text.count("\n- func:")
    said = f"{count:,} operator" + ("s" if count != 1 else "")
    if path.is_file() and path.read_bytes() == text.encode():
        print(f"{_shown(path)}: up to date, {said}", file=out)
        return 0
    replace_file(path, text)
    print(f"{_shown(path)}: {said}", file=out)
    return 0


def _shown(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
