"""`opwright gate --mutate`: mutants of a project's declarations, run through the gate of the installed runtime."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from opwright_codegen.commands.config import find_config, read_config
from opwright_codegen.commands.generate import generate
from opwright_codegen.commands.job import Job, job_of
from opwright_codegen.commands.report_options import add_report_options, wishes_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import UsageError, library_module
from opwright_codegen.mutants.making import choose, mutants_of
from opwright_codegen.mutants.mutant import NAMESPACE, Mutant
from opwright_codegen.mutants.projects import generate_mutants
from opwright_codegen.records import as_dict, replace

__all__ = ["mutate", "mutate_words"]

_PACKAGE: Final = "opwright_mutants"
_REFERENCES: Final = "opwright_mutants_references"
_MOST: Final = 300


def mutate_words(words: Sequence[str]) -> int:
    """Run `opwright gate --mutate` with the words of its command line; the status. Raises UsageError, SchemaErrors."""
    parser = ArgumentParser(
        prog="opwright gate --mutate", description="Change declarations one by one: does a check notice?"
    )
    parser.add_argument("--mutate", action="store_true", help=SUPPRESS)
    parser.add_argument("targets", nargs="*", metavar="OPERATOR", help="whose declarations; else all of the project")
    parser.add_argument("--most", type=_count, default=_MOST, metavar="N", help="so many changes, of all classes")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which changes, and what arguments are drawn")
    parser.add_argument("-j", "--jobs", type=_count, metavar="N", help="operators at a time; else one for each core")
    parser.add_argument("--load", action="append", default=[], dest="modules", metavar="MODULE", help="import it first")
    parser.add_argument("--reference", choices=["torch"], help="PyTorch's operator of the same name says what is meant")
    parser.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    add_report_options(parser, has_baseline=False)
    arguments = parser.parse_args(words)
    config = read_config(Path(arguments.config)) if arguments.config else find_config(Path.cwd())
    if config is None:
        raise UsageError(f"{arguments.config} has no table [tool.opwright]")
    return mutate(job_of(config), arguments)


def mutate(job: Job, arguments: Namespace) -> int:
    """Change declarations one by one, and print which changes no check notices; the status.

    Raises UsageError where nothing can be changed, SchemaErrors for schemas that are wrong as they are.
    """
    sets = declare(job, binds=False)
    mutants = choose(list(mutants_of(sets.values(), arguments.targets)), arguments.most, arguments.seed)
    if not mutants:
        raise UsageError("there is nothing to change: no entry of the schemas is meant, or can have mutants")
    with TemporaryDirectory(prefix="opwright_mutants_") as folder:
        changed = _changed_job(job, Path(folder), tuple(sets))

        def generated(schemas: Path, derivatives: Path | None) -> None:
            options = Namespace(check=False, diff=False, dry_run=False, depfile=None, force=True)
            generate(replace(changed, schemas=(schemas,), derivatives=derivatives), options, io.StringIO())

        left, refused = generate_mutants(mutants, Path(folder), generated)
        if not left:
            raise UsageError(f"no mutant can be generated: {next(iter(refused.values()), 'nothing is left')}")
        known = {each.name for each in left}
        shown = [each for each in mutants if each.name in known or each.name in refused]
        return _run(job, arguments, Path(folder), shown, refused)


def _count(text: str) -> int:
    """Return a number of at least 1. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 9):
        raise ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


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


def _write_references(folder: Path, mutants: Sequence[Mutant]) -> str:
    """Write a module that declares for mutants what is declared for the operators that they are of: what their values
    mean. Return its name."""
    pairs = "".join(f"    {each.name!r}: {each.operator!r},\n" for each in mutants)
    lines = "from opwright_gate.meanings import named_reference\nfrom opwright_gate.references import reference\n\n"
    lines += "OPERATORS = {\n" + pairs + "}\nfor mutant, operator in OPERATORS.items():\n"
    lines += "    if (found := named_reference(operator)) is not None:\n"
    (folder / f"{_REFERENCES}.py").write_text(lines + "        reference(mutant, found)\n", encoding="utf-8")
    return _REFERENCES


def _run(job: Job, arguments: Namespace, folder: Path, mutants: Sequence[Mutant], refused: dict[str, str]) -> int:
    order = {
        "mutants": [
            {name: value for name, value in as_dict(each).items() if name not in ("entry", "derivative")}
            for each in mutants
        ],
        "refused": refused,
        "target": ", ".join(arguments.targets) or job.root.name,
        "reference": arguments.reference,
        "modules": [*arguments.modules, _PACKAGE, _write_references(folder, mutants)],
        "seed": arguments.seed,
        "jobs": arguments.jobs,
        "wanted": wishes_of(arguments),
    }
    paths = [folder, *job.roots, *job.beside, Path.cwd(), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, map(str, paths))), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", library_module("opwright_gate.mutants")]
    return subprocess.run(command, input=json.dumps(order).encode(), env=environment, check=False).returncode
