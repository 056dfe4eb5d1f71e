"""C kernels as C sees them: functions, types and parameters, which the header, the shims and the index share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from opwright_codegen.bindings.bind import Binding, Native
from opwright_codegen.bindings.metas import Plans
from opwright_codegen.targets.native_facts import allocates
from opwright_codegen.views.c_text import c_name, c_namer

__all__ = ["FOLDER", "CFunction", "CKernel", "c_kernels"]

FOLDER: Final = "native"
# By dtype: the end of the function's name, the type in C, and NumPy's number. Bools are bytes, of which any is there.
_TYPES: Final = {
    "bool": ("b8", "uint8_t", "NPY_BOOL"),
    **{f"{sign}int{n}": (f"{sign[:1] or 'i'}{n}", f"{sign}int{n}_t", f"NPY_{sign.upper()}INT{n}")
       for sign in ("u", "") for n in (8, 16, 32, 64)},
    "float32": ("f32", "float", "NPY_FLOAT32"),
    "float64": ("f64", "double", "NPY_FLOAT64"),
    "complex64": ("c64", "float _Complex", "NPY_COMPLEX64"),
    "complex128": ("c128", "double _Complex", "NPY_COMPLEX128"),
}  # fmt: skip
_SCALARS: Final = {"float": "double", "int": "int64_t", "bool": "int"}


@dataclass(frozen=True, slots=True)
class CFunction:
    """The function of a kernel for one dtype: its name, its prototype, NumPy's type number."""

    name: str
    prototype: str
    type_number: str


@dataclass(frozen=True, slots=True)
class CKernel:
    """A kernel with its functions. `declaration` and `doc` are text of the schema."""

    native: Native
    declaration: str
    doc: str
    functions: tuple[CFunction, ...]
    allocates: bool


def c_kernels(bindings: Sequence[Binding]) -> list[CKernel]:
    """Return the C kernels, each once, in the order of the schemas."""
    found = {}
    for binding in bindings:
        native, meta = binding.kernel, binding.meta
        if isinstance(native, Native) and binding.key == "CPU" and native.name not in found:
            assert isinstance(meta, Plans)
            schema = binding.base.schema
            functions = tuple(_function(native, dtype) for dtype in native.dtypes)
            found[native.name] = CKernel(
                native, schema.text or str(schema), binding.base.doc, functions, allocates(native, meta)
            )
    return list(found.values())


def _function(native: Native, dtype: str) -> CFunction:
    suffix, kind, number = _TYPES[dtype]
    name = f"{native.name}_{suffix}"
    head = f"int {name}("
    whole = [parameter.replace(" ", "\xa0") for parameter in _parameters(native, kind)]  # lines break between them
    text = f"{head.replace(' ', chr(0xA0))}{', '.join(whole)});"
    lines = wrap(text, 116, subsequent_indent=" " * len(head), break_long_words=False, break_on_hyphens=False)
    return CFunction(name, "\n".join(lines).replace("\xa0", " "), number)


def _parameters(native: Native, kind: str) -> Iterator[str]:
    namer = c_namer()
    if native.convention == "elementwise":
        namer.claim("n")
        yield "int64_t n"
    names = {argument.name: c_name(namer, argument.name) for argument in native.arguments}
    outs = [c_name(namer, name) for name in native.results]
    for argument in native.arguments:
        name = names[argument.name]
        if argument.sort == "array":
            yield f"const {kind} *{name}"
            yield from (text + c_name(namer, f"{name}_{word}") for text, word in _geometry(native.convention))
        else:
            yield f"{_SCALARS[argument.sort]} {name}"
    for name in outs:
        yield f"{kind} *{name}"
        yield from (text + c_name(namer, f"{name}_{word}") for text, word in _geometry(native.convention))


def _geometry(convention: str) -> list[tuple[str, str]]:
    """Return what tells of an array's shape and strides: the type of a parameter, and how its name ends."""
    told = [("int ", "ndim"), ("const int64_t *", "shape"), ("const int64_t *", "strides")]
    return {"elementwise": [], "contiguous": told[:2], "strided": told}[convention]
