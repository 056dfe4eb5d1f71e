"""The command `fmt`: schema files and derivatives in canonical form."""

from __future__ import annotations

import sys
from argparse import Namespace
from difflib import unified_diff
from pathlib import Path
from typing import TextIO

from opwright_codegen.building.progress import shown
from opwright_codegen.commands.config import Config, matching_files
from opwright_codegen.documents.files import read_source
from opwright_codegen.errors import Errors, SchemaError, UsageError
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.output.canonical import canonical
from opwright_codegen.output.write import replace_file
from opwright_codegen.source import Source

__all__ = ["format_files"]


def format_files(config: Config, arguments: Namespace, out: TextIO, outcome: Outcome) -> int:
    """Write files in canonical form, or say which are not; the status: 1 if `--check` finds one.

    Raises SchemaErrors for files that cannot be read, which stay as they are, and so do all others.
    """
    namespace = arguments.namespace or config.namespace
    if arguments.files == ["-"]:
        text = "" if sys.stdin is None else sys.stdin.read()  # closed by who started us
        out.write(canonical(Source("<stdin>", text), namespace))
        return 0
    configured = [*config.schemas, *([config.derivatives] if config.derivatives else [])]
    paths = [path for text in arguments.files for path in matching_files(Path(), text)] or configured
    if not paths:
        raise UsageError('no schema file: name one, or set schemas = ["…"] in [tool.opwright] of pyproject.toml')
    changed = _changed(paths, namespace)
    outcome.files += map(shown, paths)
    outcome.facts |= {"changed": len(changed), "unchanged": len(paths) - len(changed)}
    looks_only = arguments.check or arguments.diff
    for path, (before, after) in changed.items():
        if arguments.diff:
            name = shown(path)
            lines = unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
            out.writelines(f"{line}\n" for line in lines)
        elif looks_only:
            print(f"would change {shown(path)}", file=out)
        else:
            replace_file(path, after)
            print(f"changed {shown(path)}", file=out)
        if looks_only:
            message, hint = "the file is not in canonical form", "run opwright fmt"
            outcome.findings.append(Finding("not-canonical", message, "error", shown(path), hint=hint))
    if not arguments.diff:
        print(f"{len(changed)} of {len(paths)} files {'would change' if looks_only else 'changed'}", file=out)
    return int(arguments.check and bool(changed))


def _changed(paths: list[Path], namespace: str | None) -> dict[Path, tuple[str, str]]:
    """Return the files that are not in canonical form, with their text before and after."""
    errors = Errors()
    found = {}
    for path in dict.fromkeys(paths):
        try:
            before = path.read_bytes() if path.is_file() else b""
            source = read_source(path)
            after = canonical(source, namespace)
        except SchemaError as error:
            errors.add(error)
            continue
        if before != after.encode():
            found[path] = (source.text, after)
    errors.raise_if_any()
    return found
