"""C kernels as C sees them: functions, types and parameters, which the header, the shims and the index share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from opwright_codegen.declared.parts import Binding, Elsewhere, Native
from opwright_codegen.records import dataclass
from opwright_codegen.targets.native.arguments import C_TYPES, parameters
from opwright_codegen.targets.native.facts import ShapeOf, looks_like, shapes_of
from opwright_codegen.views.c_text import c_name, c_namer

__all__ = ["FOLDER", "CFunction", "CKernel", "c_kernels"]

FOLDER: Final = "native"


@dataclass(frozen=True, slots=True)
class CFunction:
    """The function of a kernel for one dtype: its name, its prototype, NumPy's type number, the end of its name."""

    name: str
    prototype: str
    type_number: str
    suffix: str


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel with its functions. `declaration` and `doc` are text of the schema. `like` is the argument that its one
    result looks like, where that is known: then the shim may allocate it. `shapes` are those of results.
    """

    native: Native
    declaration: str
    doc: str
    functions: tuple[CFunction, ...]
    like: str | None
    shapes: tuple[ShapeOf | None, ...]


def c_kernels(bindings: Sequence[Binding]) -> list[CKernel]:
    """Return the C kernels, each once, in the order of the schemas."""
    found = {}
    for binding in bindings:
        native, meta = binding.kernel, binding.meta
        if isinstance(native, Elsewhere) or not isinstance(native, Native):
            continue
        if binding.key == "CPU" and native.name not in found:
            schema = binding.base.schema
            functions = tuple(_function(native, dtype) for dtype in native.dtypes)
            found[native.name] = CKernel(
                native,
                schema.text or str(schema),
                binding.base.doc,
                functions,
                looks_like(native, meta),
                shapes_of(native, meta),
            )
    return list(found.values())


def _function(native: Native, dtype: str) -> CFunction:
    suffix, kind, number = C_TYPES[dtype]
    name = f"{native.name}_{suffix}"
    head = f"int {name}("
    whole = [parameter.replace(" ", "\xa0") for parameter in _parameters(native, kind)]  # lines break between them
    text = f"{head.replace(' ', chr(0xA0))}{', '.join(whole)});"
    lines = wrap(text, 116, subsequent_indent=" " * len(head), break_long_words=False, break_on_hyphens=False)
    return CFunction(name, "\n".join(lines).replace("\xa0", " "), number, suffix)


def _parameters(native: Native, kind: str) -> Iterator[str]:
    namer = c_namer()
    if native.is_parallel:
        yield from (f"int64_t {namer.claim(name)}" for name in ("begin", "end"))
    elif native.convention == "elementwise":
        namer.claim("n")
        yield "int64_t n"
    named = [(argument, c_name(namer, argument.name)) for argument in native.parameters]
    for argument, name in named:
        yield from parameters(argument, name, kind, native.convention, namer)
