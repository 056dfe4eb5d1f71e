"""The front half of a run: a job's schema files and derivatives read, and the declared set of each namespace."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from opwright_codegen.commands.job import Job
from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.output.write import replace_file
from opwright_codegen.records import replace

if TYPE_CHECKING:
    from opwright_codegen.declared.model import DeclaredSet
    from opwright_codegen.derivatives.model import DerivativeSet
    from opwright_codegen.kernels.modules import KernelModules
    from opwright_codegen.read.model import OperatorSet

__all__ = [
    "declare_namespace",
    "declared_sets",
    "gradient_modules",
    "read_job_derivatives",
    "read_operators",
    "write_declared",
]

_PROVIDED: Final = ("opwright_aten",)  # used unless something else is said: it need not be there yet


def declared_sets(job: Job, operators: OperatorSet | None = None) -> dict[str, DeclaredSet]:
    """Return the declared set of each namespace, of operators that are read already if given. Raises SchemaErrors."""
    operators = operators or read_operators(job)
    derivatives = read_job_derivatives(job, operators)
    namespaces = operators.namespaces
    return {
        name: declare_namespace(job, operators, name, job.folder(name, namespaces) if job.output else None, derivatives)
        for name in namespaces
    }


def write_declared(job: Job, file: str, out: TextIO) -> int:
    """Write the document of the job's namespace to a file, or to `out` for "-". Each of several namespaces has a file.

    Raises UsageError for several namespaces and one output, SchemaErrors.
    """
    from opwright_codegen.declared.document import document_text

    found = declared_sets(job)
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


def read_operators(job: Job) -> OperatorSet:
    """Return all operators of the job. Raises SchemaErrors."""
    from opwright_codegen.read.files import read

    return read(job.schemas, job.tags, job.namespace)


def read_job_derivatives(job: Job, operators: OperatorSet) -> DerivativeSet | None:
    """Return the derivatives of the job, None where it has none. Raises SchemaErrors."""
    if job.derivatives is None and not any(operator.expression for operator in operators.operators.values()):
        return None
    from opwright_codegen.derivatives.files import derivatives_of_expressions, read_derivatives

    if job.derivatives is None:
        return derivatives_of_expressions(operators, gradient_modules(job), job.used_packages())
    found = read_derivatives(
        job.derivatives, operators, gradient_modules(job), job.used_packages(), is_lax=not job.strict
    )
    job.derivatives_left_out.extend(found.left_out)
    return found


def gradient_modules(job: Job) -> KernelModules:
    """Return the modules of backward functions."""
    from opwright_codegen.kernels.modules import KernelModules

    return KernelModules(job.gradients, job.roots, of="backward function", named=job.named, allowed=job.packages)


def declare_namespace(
    job: Job,
    operators: OperatorSet,
    namespace: str,
    folder: Path | None = None,
    derivatives: DerivativeSet | None = None,
) -> DeclaredSet:
    """Return the declared set of one namespace, whose package goes to a folder. Raises SchemaErrors."""
    from opwright_codegen.declared.declare import declare
    from opwright_codegen.kernels.modules import KernelModules
    from opwright_codegen.views.names import is_word

    package = Path(os.path.realpath(folder)).name if folder else f"opwright_{namespace}"
    if not is_word(package):
        word = re.sub(r"\W", "_", package, flags=re.ASCII)
        better = word if is_word(word) else f"{word}_ops"
        hint = f"its name is that of a Python package: write {better}"
        raise SchemaError("output-name", f"the folder {package!r} cannot be imported", hint=hint)
    for used in job.used_packages():
        if used.name not in _PROVIDED:
            used.check()
    return declare(
        operators if len(operators.namespaces) == 1 else _only_namespace(operators, namespace),
        package,
        kernels=KernelModules(job.kernels, job.roots, named=job.named, allowed=job.packages, files=job.files),
        rules=KernelModules(job.rules, job.roots, of="rule", named=job.named, allowed=job.packages),
        strict=job.strict,
        derivatives=derivatives,
        gradients=gradient_modules(job),
        used=job.used_packages(),
        project=job.project,
        trusted=job.trusted,
    )


def _only_namespace(operators: OperatorSet, namespace: str) -> OperatorSet:
    members = {name: found for name, found in operators.operators.items() if found.namespace == namespace}
    groups = tuple(group for group in operators.groups if group.members[0].namespace == namespace)
    return replace(operators, operators=members, groups=groups)
