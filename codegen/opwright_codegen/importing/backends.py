"""The reader of backends' files: operators that a backend handles, as the generators of other projects list them."""

from __future__ import annotations

from pathlib import Path

from opwright_codegen.documents.files import read_source
from opwright_codegen.documents.foreign import BackendForm, backend_form, first_key
from opwright_codegen.documents.yaml_reader import MappingNode, Node, SequenceNode, describe, read_document
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.importing.executorch import read_executorch
from opwright_codegen.importing.found import Findings
from opwright_codegen.importing.gaudi import read_gaudi
from opwright_codegen.importing.name_lists import read_names
from opwright_codegen.importing.shared_parts import Entries
from opwright_codegen.importing.stubs import read_stubs, read_versions
from opwright_codegen.source import Source

__all__ = ["read_backend"]


def read_backend(path: Path, namespace: str | None = None) -> Findings:
    """Return the operators of a backend's file, in any of the forms of `BackendForm`.

    Operators that the file names alone get PyTorch's schemas, as far as they are known here. Those that are the
    backend's own are in `namespace`; without it in that of the backend's name, or of the file's.
    Raises SchemaErrors for a file that cannot be read, is no YAML, or has another form.
    """
    errors = Errors()
    try:
        source = read_source(path)
        document = read_document(source, errors)
    except SchemaError as error:
        errors.add(error)
    errors.raise_if_any()
    if document is None:
        return Findings(())
    form = backend_form(document)
    if form is None:
        errors.add(_other_file(document, source))
        errors.raise_if_any()
    entries = Entries(source, namespace)
    match form, document:
        case BackendForm.STUBS, MappingNode():
            read_stubs(document, entries)
        case BackendForm.VERSIONS, MappingNode():
            read_versions(document, entries)
        case BackendForm.GAUDI, MappingNode():
            read_gaudi(document, entries)
        case BackendForm.EXECUTORCH, SequenceNode():
            read_executorch(document, entries)
        case BackendForm.NAMES, SequenceNode():
            read_names(document, entries)
    return entries.gathered.findings()


# Lists of mappings that are no backend's: the key that tells each, and what it is.
_LISTS = {
    "func": ("it is a schema file already", "opwright generate and opwright check read it"),
    "name": ("it looks like derivatives.yaml", 'derivatives = "…" of [tool.opwright] reads it'),
    "tag": ("it lists tags", 'tags = "…" of [tool.opwright] reads it'),
}


def _other_file(document: Node, source: Source) -> SchemaError:
    """Return the error that says what a file is that is no backend's."""
    what = f"it holds {describe(document)} of another form"
    hint = "files of torch-npu, XLA, op-plugin, torch_musa, Gaudi's bridge and ExecuTorch are read"
    if isinstance(document, SequenceNode):
        first = next((each for each in document.items if isinstance(each, MappingNode)), None)
        what, hint = next((said for key, said in _LISTS.items() if first and key in first.pairs), (what, hint))
    return SchemaError("no-backend-file", f"this is no backend's file: {what}", first_key(document, source), hint)
