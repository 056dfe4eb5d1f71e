"""`opwright gate --mutate`: mutants of a project's declarations, run through the gate of the installed runtime."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright_codegen.commands.generate import generate, read_operators
from opwright_codegen.commands.job import Job
from opwright_codegen.commands.report_options import wishes_of
from opwright_codegen.errors import UsageError
from opwright_codegen.mutants.entries import entries_of
from opwright_codegen.mutants.making import choose, mutants_of
from opwright_codegen.mutants.model import NAMESPACE, Mutant
from opwright_codegen.mutants.projects import generate_mutants

__all__ = ["mutate"]

_PACKAGE = "opwright_mutants"


def mutate(job: Job, arguments: Namespace) -> int:
    """Change declarations one by one, and print which changes no check notices; the status.

    Raises UsageError where nothing can be changed, SchemaErrors for schemas that are wrong as they are.
    """
    namespaces = read_operators(job).namespaces  # (which raises what is wrong)
    entries = list(entries_of(job.schemas))
    derivatives = list(entries_of([job.derivatives])) if job.derivatives else []
    mutants = choose(list(mutants_of(entries, derivatives, arguments.targets)), arguments.most, arguments.seed)
    if not mutants:
        raise UsageError("there is nothing to change: no entry of the schemas is meant, or can have mutants")
    with TemporaryDirectory(prefix="opwright_mutants_") as folder:
        changed = _changed_job(job, Path(folder), namespaces)

        def generated(schemas: Path, derivatives: Path | None) -> None:
            options = Namespace(check=False, diff=False, dry_run=False, depfile=None, force=True)
            generate(replace(changed, schemas=(schemas,), derivatives=derivatives), options, io.StringIO())

        left, refused = generate_mutants(mutants, Path(folder), generated)
        if not left:
            raise UsageError(f"no mutant can be generated: {next(iter(refused.values()), 'nothing is left')}")
        known = {each.name for each in left}
        shown = [each for each in mutants if each.name in known or each.name in refused]
        return _run(job, arguments, Path(folder), shown, refused)


def _changed_job(job: Job, folder: Path, namespaces: Sequence[str]) -> Job:
    """Return the job that makes the package of mutants, which may use what the project's own package declares."""
    own = [job.folder(each, namespaces) for each in namespaces] if job.output else []
    uses = (*job.uses, *(each.name for each in own if (each / "__init__.py").is_file()))
    beside = tuple(dict.fromkeys((*job.beside, *(schema.parent for schema in job.schemas))))
    return replace(
        job,
        output=folder / _PACKAGE,
        namespace=NAMESPACE,
        uses=tuple(dict.fromkeys(uses)),
        beside=beside,
        bindings=(),
        only=(),
        project=None,
    )


def _run(job: Job, arguments: Namespace, folder: Path, mutants: Sequence[Mutant], refused: dict[str, str]) -> int:
    order = {
        "mutants": [
            {name: value for name, value in asdict(each).items() if name not in ("entry", "derivative")}
            for each in mutants
        ],
        "refused": refused,
        "target": ", ".join(arguments.targets) or job.root.name,
        "modules": [_PACKAGE, *arguments.modules],
        "seed": arguments.seed,
        "jobs": arguments.jobs,
        "wanted": wishes_of(arguments, job.root),
    }
    paths = [folder, *job.roots, *job.beside, Path.cwd(), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, map(str, paths))), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "opwright.gate.mutants"]
    return subprocess.run(command, input=json.dumps(order).encode(), env=environment, check=False).returncode
