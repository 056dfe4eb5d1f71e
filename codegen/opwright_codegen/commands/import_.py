"""The command `import`: schema files, tests and a report of holes, of operators that exist already."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from opwright_codegen.commands.generate import render_namespace
from opwright_codegen.commands.job import Job
from opwright_codegen.commands.runtime_process import RuntimeProcessError, run_in_runtime
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import SchemaError, UsageError, nearest
from opwright_codegen.importing.found import Findings
from opwright_codegen.importing.registry import Listed, gradients_of, read_registry
from opwright_codegen.importing.report import count_lines, page
from opwright_codegen.importing.writing import Imported, derivatives_skeleton, schema_file
from opwright_codegen.output.templates import environment
from opwright_codegen.output.write import replace_file
from opwright_codegen.schema.names import PYTORCHS
from opwright_codegen.source import Source

__all__ = ["import_files", "import_operators"]

_LIST: Final = """
import importlib, pathlib, sys
import torch
for module in sys.argv[3:]:
    importlib.import_module(module)
from opwright_bindings.torch.runtime.listing import listing
pathlib.Path(sys.argv[2]).write_text(listing(sys.argv[1]), encoding="utf-8")
"""
_OPS, _DERIVATIVES, _TESTS, _HOLES = "ops.yaml", "derivatives.yaml", "test_ops.py", "holes.md"


def import_operators(arguments: Namespace, out: TextIO) -> int:
    """Write the operators of a registry or of files, as `arguments` name them. Raises UsageError, SchemaError."""
    match arguments.source:
        case "torch":
            return _import_torch(arguments, out)
        case "cpp":
            from opwright_codegen.importing.cpp import read_cpp

            found = read_cpp([Path(file) for file in arguments.files], arguments.source_namespace)
        case _:
            from opwright_codegen.importing.backends import read_backend

            found = read_backend(Path(arguments.file), arguments.source_namespace)
    return import_files(arguments, found, out)


def _import_torch(arguments: Namespace, out: TextIO) -> int:
    """Write the operators of a namespace of PyTorch's registry, as kernels that call PyTorch.

    Raises UsageError for files that exist already, SchemaError where the registry cannot be listed.
    """
    folder, namespace = Path(arguments.output), arguments.source_namespace
    target = arguments.namespace or f"{namespace}_ops"
    _check_files(folder, (_OPS, _DERIVATIVES, _TESTS, _HOLES), arguments.force)
    _say("asking PyTorch for its operators …", out)
    listing = _listing(namespace, arguments.modules)
    listed = [Listed.read(each) for each in listing["operators"]]
    where = f"PyTorch {listing['version']}"
    _say(f"{where}: {_count(len(listed), 'operator')} of {namespace}", out)
    findings = read_registry(listed, where, listing["cuda"])
    made = f"`opwright import torch {namespace}`, of {where}"
    imported = _schema_file(folder, findings, made, {namespace: target}, out)
    gradients = {f"{target}::{name.partition('::')[2]}" for name in gradients_of(listed)}
    skeleton = derivatives_skeleton([each for each in imported.operators if each.name in gradients], _SKELETON)
    tests = environment().get_template("imported_tests.py.j2")
    values = {"package": target, "namespace": namespace, "modules": arguments.modules}
    texts = {_OPS: imported.text, _DERIVATIVES: skeleton, _TESTS: tests.render(values)}
    _write(folder, texts, imported, made, out)
    package = (folder / target).as_posix()
    print(f"next: opwright generate {folder / _OPS} -o {package} && python -m pytest {folder / _TESTS}", file=out)
    return 0


_SKELETON: Final = """\
# PyTorch may have gradients of these operators, which its kernels do not give here. Write the formulas that you need:
# `derivatives = "derivatives.yaml"` in [tool.opwright] has them read.
"""


def import_files(arguments: Namespace, findings: Findings, out: TextIO) -> int:
    """Write the operators that were found in files. Raises UsageError for files that exist already."""
    folder = Path(arguments.output)
    _check_files(folder, (_OPS, _HOLES), arguments.force)
    namespaces = {each.name.partition("::")[0] for each in findings.operators}
    targets = {each: arguments.namespace or (f"{each}_ops" if each == PYTORCHS else each) for each in namespaces}
    made = f"`opwright import {arguments.source}`"
    imported = _schema_file(folder, findings, made, targets, out)
    _write(folder, {_OPS: imported.text}, imported, made, out)
    return 0


def _listing(namespace: str, modules: Sequence[str]) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "operators.json")
        try:
            run_in_runtime(_LIST, [namespace, str(file), *modules])
        except RuntimeProcessError as error:
            message = f"PyTorch's registry cannot be listed: {error}"
            raise SchemaError("no-registry", message, hint="install what is missing: pip install torch") from None
        listing: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if not listing["operators"]:
        raise _no_namespace(namespace, listing["namespaces"], modules)
    return listing


def _no_namespace(namespace: str, known: Sequence[str], modules: Sequence[str]) -> SchemaError:
    near = nearest(namespace, known)
    loaded = f" with {', '.join(modules)} loaded" if modules else ""
    hint = f"did you mean {near!r}?" if near else "--load MODULE imports what registers it"
    return SchemaError("unknown-namespace", f"PyTorch has no operators of {namespace!r}{loaded}", hint=hint)


def _schema_file(folder: Path, findings: Findings, made: str, targets: Mapping[str, str], out: TextIO) -> Imported:
    """Return the schema file, whose entries are read and rendered until no error is left."""
    heading = f"# Made by {made}: yours to change. holes.md says what is missing.\n"
    job = Job(folder, (Path(_OPS),), strict=False)

    def check(text: str) -> None:
        _say("checking …", out)
        _check(text, job)

    return schema_file(findings, heading, targets.__getitem__, check)


def _check(text: str, job: Job) -> None:
    """Raise SchemaErrors for what `opwright check` would refuse."""
    for declared in declare(job, [Source(_OPS, text)]).values():
        render_namespace(job, declared)


def _check_files(folder: Path, names: Sequence[str], force: bool) -> None:
    """Raise UsageError for files that are there already, and must not be replaced."""
    there = [name for name in names if os.path.lexists(folder / name)]
    if there and not force:
        what = "it" if len(there) == 1 else "them"
        raise UsageError(f"{folder} has {', '.join(there)} already, and nothing is replaced: --force replaces {what}")


def _write(folder: Path, texts: Mapping[str, str], imported: Imported, made: str, out: TextIO) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**texts, _HOLES: page(imported.holes, f"Holes of {made}")}.items():
        replace_file(folder / name, text)
    print(f"{folder / _OPS}: {_count(len(imported.operators), 'operator')}", file=out)
    print(f"{folder / _HOLES}: {_count(len(imported.holes), 'hole')}", file=out)
    for line in count_lines(imported.holes):
        print(line, file=out)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _say(text: str, out: TextIO) -> None:
    print(text, file=out, flush=True)
