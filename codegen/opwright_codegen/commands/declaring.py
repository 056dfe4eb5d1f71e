"""The declared sets of a job, written as documents: `opwright generate --declared`."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from opwright_codegen.commands.job import Job
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.document import document_text
from opwright_codegen.errors import UsageError
from opwright_codegen.output.write import replace_file

__all__ = ["write_declared"]


def write_declared(job: Job, file: str, out: TextIO) -> int:
    """Write the document of the job's namespace to a file, or to `out` for "-". Each of several namespaces has a file.

    Raises UsageError for several namespaces and one output, SchemaErrors.
    """
    found = declare(job)
    if file == "-":
        if len(found) > 1:
            raise UsageError(f"--declared - prints one namespace, and there are {', '.join(found)}: name a file")
        out.writelines(document_text(each, 1) for each in found.values())
        return 0
    path = Path(file)
    texts = {
        path if len(found) == 1 else path.with_name(f"{path.stem}.{name}{path.suffix}"): document_text(each, 1)
        for name, each in found.items()
    }
    for target, text in texts.items():
        replace_file(target, text)
        print(f"{target.as_posix()}  {len(text.encode()):,} bytes", file=out)
    return 0
