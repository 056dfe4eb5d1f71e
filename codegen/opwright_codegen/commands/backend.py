"""The command `backend`: what a backend of the installed runtime has kernels for, and what handles the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from opwright_codegen.commands.runtime_process import RuntimeProcessError, run_in_runtime
from opwright_codegen.errors import SchemaError

__all__ = ["show_backend"]

# Without plug-ins, which may want the dispatch key that it takes.
_NEEDED = """
from opwright.testing.training_step import operators_of_training
print(*operators_of_training())
"""
_REPORT = """
import importlib, sys
for module in filter(None, sys.argv[2].split(",")):
    importlib.import_module(module)
from opwright.testing.backend_report import report
print(report(sys.argv[1], sys.argv[3:]))
"""


def show_backend(name: str, modules: Sequence[str], out: TextIO) -> int:
    """Print the report on a backend, after importing `modules` in the runtime. Raises SchemaError where there is
    none."""
    try:
        needed = run_in_runtime(_NEEDED, [], plugins=False).split()
        out.write(run_in_runtime(_REPORT, [name, ",".join(modules), *needed]))
    except RuntimeProcessError as error:
        raise SchemaError("no-backend", f"the runtime has no report on backend {name}: {error}") from None
    return 0
