"""Forms of a `dispatch` value or of `meta`: an expression, a name, a path, or native code."""

from __future__ import annotations

import keyword
import re

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Formula, Tuple
from opwright_codegen.formula.parser import parse
from opwright_codegen.records import dataclass
from opwright_codegen.source import Text

__all__ = [
    "InlineKernel", "KernelForm", "MetaForm", "MetaFormulas", "NamedKernel", "NativeKernel",
    "NumbaKernel", "NvccKernel", "PathKernel", "PathMeta", "RawKernel", "TorchKernel", "TritonKernel",
    "TvmKernel", "ViewMeta", "kernel_form", "meta_form",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class InlineKernel:
    """An expression over `xp` and the arguments, or over operators; its names are not resolved yet."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class NamedKernel:
    """A function of the configured kernel modules, by its name; `a::b` is C++'s, and bound by none."""

    name: str


@dataclass(frozen=True, slots=True)
class PathKernel:
    """A path `package.module:function`."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """A kernel `native:NAME`, C functions of that name, one for each dtype."""

    name: str


@dataclass(frozen=True, slots=True)
class RawKernel:
    """A kernel `raw:FILE::NAME`, in CUDA source that is compiled when the program runs."""

    file: str
    name: str


@dataclass(frozen=True, slots=True)
class NvccKernel:
    """A kernel `nvcc:FILE::NAME`, host functions in CUDA source that `opwright build` compiles."""

    file: str
    name: str


@dataclass(frozen=True, slots=True)
class TorchKernel:
    """A kernel `torch:NAMESPACE::NAME.OVERLOAD`, an operator of PyTorch."""

    name: str


@dataclass(frozen=True, slots=True)
class NumbaKernel:
    """A kernel `numba:MODULE.FUNCTION`, a function that Numba compiles when it is first called."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A kernel `triton:MODULE.FUNCTION`, a function under `triton.jit`."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class TvmKernel:
    """A kernel `tvm_ffi:LIBRARY::FUNCTION`, of a library's path, or of what a Python module loads."""

    library: str
    name: str


@dataclass(frozen=True, slots=True)
class ViewMeta:
    """A `meta` whose results share memory with an argument: they are what the kernel returns."""


@dataclass(frozen=True, slots=True)
class MetaFormulas:
    """One call of a rule for each output; names are not resolved yet."""

    formulas: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class PathMeta:
    """A rule by its path, `package.module:function`."""

    module: str
    name: str


KernelForm = (
    InlineKernel | NamedKernel | PathKernel | NativeKernel | RawKernel | NvccKernel | TorchKernel | NumbaKernel
    | TritonKernel | TvmKernel
)  # fmt: skip
MetaForm = ViewMeta | MetaFormulas | PathMeta

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(rf"{_WORD}(?:::{_WORD})*")
_PATH = re.compile(rf"({_WORD}(?:\.{_WORD})*):({_WORD})")
_NATIVE = re.compile(r"native:([A-Za-z][A-Za-z0-9_]*)")  # names that begin with an underscore are often C's own
_TORCH = re.compile(rf"torch:({_WORD}::{_WORD}(?:\.{_WORD})?)", re.ASCII)
_DOTTED = re.compile(rf"(?:numba|triton):({_WORD}(?:\.{_WORD})*)[.:]({_WORD})")
_TVM = re.compile(r"tvm_ffi:([\w./-]+)::([A-Za-z_]\w*)", re.ASCII)
_CUDA = re.compile(r"(?:raw|nvcc):([\w./-]+)::([A-Za-z][A-Za-z0-9_]*)", re.ASCII)


def kernel_form(text: Text) -> KernelForm:
    """Return the form of a `dispatch` value. One word is the name of a kernel; an argument itself is written `(self)`.

    Raises SchemaError for text of no form.
    """
    written = text.text.strip()
    if written.startswith("native:") and not written.startswith("native::"):
        (name,) = _parts(_NATIVE, "native:my_function", text)
        _refuse_keywords([name], text)
        return NativeKernel(name)
    if written.startswith("torch:") and "::" in written and not written.startswith("torch::"):
        return TorchKernel(*_parts(_TORCH, "torch:aten::add.Tensor", text))
    for word, form in (("raw", RawKernel), ("nvcc", NvccKernel)):
        if written.startswith(f"{word}:") and not written.startswith(f"{word}::"):
            file, name = _parts(_CUDA, f"{word}:csrc/file.cu::my_kernel", text)
            _refuse_keywords([name], text)
            return form(file, name)
    if found := _elsewhere(written, text):
        return found
    if path := _path(text):
        return PathKernel(*path)
    if _NAME.fullmatch(written) and written not in ("None", "True", "False"):
        return NamedKernel(written)  # `__and__` and even `lambda` may be: a name to look up is never code
    return InlineKernel(parse(text))


def _elsewhere(written: str, text: Text) -> NumbaKernel | TritonKernel | TvmKernel | None:
    """Return the form of a kernel that is written for another compiler."""
    for word, form in (("numba", NumbaKernel), ("triton", TritonKernel)):
        if written.startswith(f"{word}:") and not written.startswith(f"{word}::"):
            module, name = _parts(_DOTTED, f"{word}:my_module.my_function", text)
            _refuse_keywords([*module.split("."), name], text)
            return form(module, name)
    if written.startswith("tvm_ffi:") and not written.startswith("tvm_ffi::"):
        return TvmKernel(*_parts(_TVM, "tvm_ffi:lib/my_library.so::my_function", text))
    return None


def meta_form(text: Text) -> MetaForm:
    """Return the form of a `meta` value. Raises SchemaError for text of no form."""
    if text.text.strip() == "view":
        return ViewMeta()
    if path := _path(text):
        return PathMeta(*path)
    formula = parse(text)
    if isinstance(formula, Tuple):
        if not formula.items:
            raise SchemaError("meta-form", "a formula for each output is expected", text.span)
        return MetaFormulas(formula.items)
    return MetaFormulas((formula,))


def _path(text: Text) -> tuple[str, str] | None:
    found = _PATH.fullmatch(text.text.strip())
    if found is None:
        return None
    _refuse_keywords([*found[1].split("."), found[2]], text)
    return found[1], found[2]


def _parts(pattern: re.Pattern[str], example: str, text: Text) -> tuple[str, ...]:
    found = pattern.fullmatch(text.text.strip())
    if found is None:
        raise SchemaError("kernel-form", f"{example.partition(':')[0]} code is expected", text.span, f"write {example}")
    return found.groups()


def _refuse_keywords(words: list[str], text: Text) -> None:
    for word in words:
        if keyword.iskeyword(word):
            raise SchemaError("keyword", f"{word!r} is a Python keyword", text.span)
        if word.startswith("__") and word.endswith("__"):
            raise SchemaError("private-name", f"{word!r} is a name of Python's own", text.span)
