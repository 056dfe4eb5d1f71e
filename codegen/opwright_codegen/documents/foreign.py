"""Files that other projects' generators read, told from schema files by their shape."""

from __future__ import annotations

import re
from enum import Enum

from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, read_document
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.source import Source, Span

__all__ = [
    "BackendForm",
    "backend_error",
    "backend_form",
    "explain_backend",
    "first_key",
    "is_backend_entry",
    "names_alone",
]


class BackendForm(Enum):
    """The forms of backends' files, each with what it is called."""

    STUBS = "a backend's list of operators, as torch-npu and XLA write it"
    VERSIONS = "a backend's list of operators by versions of PyTorch, as op-plugin writes it"
    GAUDI = "a backend's table of operators, as Gaudi's bridge writes it"
    EXECUTORCH = "a list of operators and their kernels, as ExecuTorch writes it"
    NAMES = "a backend's list of operators by their names alone, as torch_musa writes it"


_STUBS = frozenset(("backend", "cpp_namespace", "supported", "full_codegen"))
_NAME = re.compile(r"(?:\w+::)?[A-Za-z_]\w*+(?:\.\w++)?", re.ASCII)
_VERSIONS = frozenset(("all_version", "official"))
_GAUDI = frozenset(
    ("guid", "op_backend", "op_frontend", "op_validator", "out_ids", "inplace_ids", "override_fn", "custom_op_schema")
)


def backend_form(document: Node) -> BackendForm | None:
    """Return the form of a backend's file; None for all else."""
    match document:
        case SequenceNode(items=items):
            if any(map(is_backend_entry, items)):
                return BackendForm.EXECUTORCH
            return BackendForm.NAMES if any(map(names_alone, items)) else None
        case MappingNode(pairs=pairs):
            if pairs.keys() & _STUBS:
                return BackendForm.STUBS
            if pairs.keys() & _VERSIONS:
                return BackendForm.VERSIONS
            values = (value for _, value in pairs.values())
            if any(isinstance(value, MappingNode) and value.pairs.keys() & _GAUDI for value in values):
                return BackendForm.GAUDI
    return None


def is_backend_entry(entry: Node) -> bool:
    """Whether an entry of a list is ExecuTorch's: it has `op`, or its kernels are a list of mappings."""
    if not isinstance(entry, MappingNode):
        return False
    if "kernels" not in entry.pairs:
        return "op" in entry.pairs and "func" not in entry.pairs
    kernels = entry.pairs["kernels"][1]
    return isinstance(kernels, SequenceNode) and any(isinstance(item, MappingNode) for item in kernels.items)


def names_alone(entry: Node) -> bool:
    """Whether an entry of a list has the name of an operator where a schema file has its schema, `func: sgn.out`."""
    func = entry.pairs.get("func") if isinstance(entry, MappingNode) else None
    return func is not None and isinstance(func[1], ScalarNode) and _NAME.fullmatch(func[1].text.strip()) is not None


def explain_backend(source: Source) -> SchemaError | None:
    """Return the error that a file is a backend's; None for all else."""
    document = read_document(source, Errors())
    form = backend_form(document) if document is not None else None
    return None if document is None or form is None else backend_error(form, first_key(document, source))


def backend_error(form: BackendForm, span: Span) -> SchemaError:
    """Return the error that a file is a backend's, and which command reads it."""
    hint = f"opwright import backend {span.source.shown_path()} -o FOLDER"
    return SchemaError("backend-file", f"this is no schema file, but {form.value}", span, hint)


def first_key(document: Node, source: Source) -> Span:
    """Return the first key of a document, or its first character."""
    match document:
        case MappingNode(pairs=pairs) if pairs:
            key = next(iter(pairs.values()))[0]
            return Span(source, key.start, key.end)
        case SequenceNode(items=[MappingNode() as entry, *_]):
            return first_key(entry, source)
        case ScalarNode() | MappingNode() | SequenceNode():
            return Span(source, document.start, min(document.start + 1, len(source.text)))
