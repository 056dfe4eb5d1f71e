"""The reader of sources in C++ and Python: what they register with PyTorch, found without compiling or running them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from opwright_codegen.documents.files import read_source
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.importing.cpp_registrations import read_registrations
from opwright_codegen.importing.found import Findings
from opwright_codegen.importing.gathered import Gathered
from opwright_codegen.importing.python_registrations import read_python_registrations
from opwright_codegen.source import Source
from opwright_codegen.sources.cpp_signatures import Signatures

__all__ = ["MAX_BYTES", "read_cpp"]

MAX_BYTES = 4 * 1024 * 1024  # of a source; PyTorch's own generated ones have less


def read_cpp(paths: Sequence[Path], namespace: str | None = None) -> Findings:
    """Return the operators that sources register: those that end in `.py` are Python, all others C++.

    `namespace` stands for `TORCH_EXTENSION_NAME`, which a build sets; without it the name of the first file does, and a
    hole says so. A kernel may stand in another file than its operator, and so may the function whose annotations or
    types are the operator's schema. What is computed is a hole.
    Raises SchemaErrors for files that cannot be read, or whose strings, comments or brackets never end.
    """
    errors = Errors()
    sources: list[tuple[Path, Source]] = []
    for path in paths:
        try:
            sources.append((path, _source(path)))
        except SchemaError as error:
            errors.add(error)
    extension = namespace or _word(paths[0].stem if paths else "")
    gathered = _read(sources, Gathered(), errors, extension, namespace is not None)
    errors.raise_if_any()
    findings = gathered.findings()
    if gathered.callees:  # read again, now that it is known which functions have the schemas
        signatures = Signatures([source for path, source in sources if path.suffix != ".py"], gathered.callees)
        findings = _read(sources, Gathered(signatures), errors, extension, namespace is not None).findings()
    return findings


def _source(path: Path) -> Source:
    source = read_source(path)
    if len(source.text) > MAX_BYTES:
        hint = "a source with registrations has a fraction of that"
        raise SchemaError("large-file", f"{str(path)!r} is larger than {MAX_BYTES >> 20} MB", hint=hint)
    return source


def _read(
    sources: Sequence[tuple[Path, Source]], into: Gathered, errors: Errors, extension: str, is_given: bool
) -> Gathered:
    """Add what the sources register, and record their errors."""
    for path, source in sources:
        before = len(into)
        try:
            if path.suffix == ".py":
                read_python_registrations(source, into)
            else:
                read_registrations(source, into, extension, is_given)
        except SchemaError as error:
            errors.add(error)
            continue
        if len(into) == before and not into.is_declared_in(source):
            hint = "what is read are m.def(…) in TORCH_LIBRARY, torch.library.define, Library.define and custom_op"
            into.hole(source.shown_path(), None, "nothing is registered in this file", hint)
    return into


def _word(text: str) -> str:
    """Return a text as a name: what no name has is an underscore."""
    return re.sub(r"\W", "_", text, flags=re.ASCII).lstrip("0123456789") or "extension"
