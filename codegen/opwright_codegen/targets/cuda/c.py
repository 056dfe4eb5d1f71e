"""CUDA kernels as C++ sees them: types, parameters and prototypes, for the header, the sources and the shims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from textwrap import wrap
from typing import Final

from opwright_codegen.declared.parts import Binding, CudaKernel, NativeArgument
from opwright_codegen.records import dataclass
from opwright_codegen.targets.native.arguments import EACH, ONE, parameters
from opwright_codegen.targets.native.facts import ShapeOf, shapes_of
from opwright_codegen.views.c_text import c_block, c_name, c_namer
from opwright_codegen.views.names import Namer

__all__ = ["CUDA_TYPES", "CudaFunctions", "cuda_digest", "cuda_functions", "cuda_header", "header_name"]

_VERSION: Final = 2  # of how functions of the host are called; the digest has it, so that a library of before is stale
CUDA_TYPES: Final = {
    "bool": "uint8_t", "float32": "float", "float64": "double", "complex64": "float2", "complex128": "double2",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("u", "") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_TYPES_OF_CUDA: Final = (  # which parameters may have: none has such a name
    "float2",
    "double2",
    "opwright_list",
    "opwright_optional",
    "opwright_sizes",
)


@dataclass(frozen=True, slots=True)
class CudaFunctions:
    """A kernel with its functions: their prototypes, and the type of their elements. `declaration` and `doc` are text
    of the schema, `shapes` those of results."""

    kernel: CudaKernel
    declaration: str
    doc: str
    prototypes: tuple[str, ...]
    types: tuple[str, ...]
    shapes: tuple[ShapeOf | None, ...]


def cuda_functions(bindings: Sequence[Binding]) -> list[CudaFunctions]:
    """Return the CUDA kernels, each once, in the order of the schemas."""
    found = {}
    for binding in bindings:
        kernel = binding.kernel
        if isinstance(kernel, CudaKernel) and binding.key == "CUDA" and kernel.name not in found:
            schema = binding.base.schema
            types = tuple(CUDA_TYPES[dtype] for dtype in kernel.dtypes)
            named = zip(kernel.functions, types, strict=True)
            prototypes = tuple(_prototype(kernel, name, kind) for name, kind in named)
            text, shapes = schema.text or str(schema), shapes_of(kernel, binding.meta)
            found[kernel.name] = CudaFunctions(kernel, text, binding.base.doc, prototypes, types, shapes)
    return list(found.values())


def cuda_digest(kernels: Sequence[CudaFunctions]) -> str:
    """Return what tells a library that was built for these kernels from one built for others."""
    described = [(each.kernel.operator, each.prototypes) for each in kernels if not each.kernel.raw]
    return sha256(repr((_VERSION, described)).encode()).hexdigest()[:16]


def header_name(namespace: str) -> str:
    """Return the name of the header."""
    return f"{namespace}_cuda.h"


def cuda_header(kernels: Sequence[CudaFunctions], namespace: str) -> dict[str, object]:
    """Return what the template of the header shows; sources that are compiled at run time begin with that, too."""
    shown = [_shown(each) for each in kernels]
    return {
        "raw": [each for each, kernel in zip(shown, kernels, strict=True) if kernel.kernel.raw],
        "host": [each for each, kernel in zip(shown, kernels, strict=True) if not kernel.kernel.raw],
        "has_values": any(
            each.kernel.raw and any(a.is_list or (a.is_optional and a.sort != "array") for a in each.kernel.arguments)
            for each in kernels
        ),
        "guard": f"OPWRIGHT_{namespace}_CUDA_H",
        "fail": f"{namespace}_cuda_fail",
    }


def _shown(each: CudaFunctions) -> dict[str, object]:
    words = [each.declaration, f"convention: {each.kernel.convention}", *([each.doc] if each.doc else [])]
    return {"comment": c_block(*words), "prototypes": each.prototypes}


def _prototype(kernel: CudaKernel, name: str, kind: str) -> str:
    head = f"__global__ void {name}(" if kernel.raw else f"int {name}("
    whole = [parameter.replace(" ", "\xa0") for parameter in _parameters(kernel, kind)]  # lines break between them
    text = f"{head.replace(' ', chr(0xA0))}{', '.join(whole)});"
    lines = wrap(text, 116, subsequent_indent=" " * len(head), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\xa0", " ")


def _parameters(kernel: CudaKernel, kind: str) -> Iterator[str]:
    namer = c_namer()
    for word in _TYPES_OF_CUDA:
        namer.claim(word)
    if not kernel.raw:
        namer.claim("stream")
    if kernel.convention == "elementwise":
        namer.claim("n")
        yield "int64_t n"
    named = [(argument, c_name(namer, argument.name)) for argument in kernel.parameters]
    taken = _by_value if kernel.raw else parameters
    for argument, name in named:
        yield from taken(argument, name, kind, kernel.convention, namer, CUDA_TYPES)
    if not kernel.raw:
        yield "void *stream"


def _by_value(
    argument: NativeArgument, name: str, kind: str, convention: str, namer: Namer, kinds: Mapping[str, str]
) -> Iterator[str]:
    """Yield the parameters for an argument of a kernel on the device, which no pointer of the host reaches."""
    if argument.is_list:
        yield f"opwright_list<{EACH[argument.sort]}> {name}"
        yield f"int64_t {c_name(namer, f'{name}_count')}"
    elif argument.is_optional and argument.sort != "array":
        yield f"opwright_optional<{kind if argument.sort == 'scalar' else ONE[argument.sort]}> {name}"
    else:
        for text in parameters(argument, name, kind, convention, namer, kinds):
            yield text.replace("const int64_t *", "opwright_sizes ") if _is_geometry(text, name) else text


def _is_geometry(text: str, name: str) -> bool:
    return text.startswith("const int64_t *") and not text.endswith(f"*{name}")
