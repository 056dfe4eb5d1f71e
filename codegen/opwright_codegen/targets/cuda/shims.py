"""Target `native/NS_cuda_shims.cu`: between Python and functions of the host that launch CUDA kernels.

A shim gets numbers: sizes, addresses on the device, which nothing here reads, tuples for shapes and strides; of
lists, and of numbers that may be left out or have the kernel's dtype, addresses on the host; texts. The Python that
calls it prepared the operands (`opwright.cuda_kernels.kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright_codegen.declared.parts import CudaKernel
from opwright_codegen.targets.cuda.c import CUDA_TYPES, CudaFunctions, cuda_digest, header_name
from opwright_codegen.targets.native.arguments import EACH, ONE
from opwright_codegen.targets.native.c import FOLDER
from opwright_codegen.views.c_text import c_block, c_literal

__all__ = ["SOURCES", "SOURCES_TEMPLATE", "TEMPLATE", "context", "file", "module", "sources_context", "sources_file"]

TEMPLATE = "cuda_shims.cu.j2"
SOURCES_TEMPLATE = "cuda_sources.txt.j2"
SOURCES = "_cuda_sources.txt"
# By sort: the type of what Python hands over, and the function that reads it.
_READ: Final = {
    "float": ("double ", "to_double"), "int": ("int64_t ", "to_int64"), "bool": ("int ", "to_int"),
    "text": ("const char *", "to_text"), "sizes": ("struct sizes ", "to_sizes"), "pointer": ("void *", "to_pointer"),
}  # fmt: skip


def file(namespace: str) -> str:
    """Return the name of the file."""
    return f"{FOLDER}/{namespace}_cuda_shims.cu"


def sources_file(namespace: str) -> str:
    """Return the name of the list of files that are compiled with the shims."""
    return f"{FOLDER}/{namespace}{SOURCES}"


def module(namespace: str) -> str:
    """Return the name of the extension module in its package."""
    return f"_{namespace}_cuda"


def context(kernels: Sequence[CudaFunctions], namespace: str) -> dict[str, object] | None:
    """Return what the template shows; None where no kernel is compiled by nvcc."""
    host = [each for each in kernels if not each.kernel.raw]
    if not host:
        return None
    shown = [
        {
            "name": function,
            "literal": c_literal(function),
            "comment": c_block(each.declaration),
            "statements": list(_statements(each.kernel, function, kind)),
        }
        for each in host
        for function, kind in zip(each.kernel.functions, each.types, strict=True)
    ]
    return {
        "functions": shown,
        "header_file": header_name(namespace),
        "fail": f"{namespace}_cuda_fail",
        "module": module(namespace),
        "digest": c_literal(cuda_digest(kernels)),
    }


def sources_context(kernels: Sequence[CudaFunctions]) -> dict[str, object] | None:
    """Return what the list of files shows; None where no kernel is compiled by nvcc."""
    paths = sorted({each.kernel.file.path for each in kernels if not each.kernel.raw})
    return {"paths": paths} if paths else None


def _statements(kernel: CudaKernel, function: str, kind: str) -> Iterator[str]:
    """Yield the statements of a shim: arguments are read in order, the function is called, its status answered."""
    reads, passed = [], []
    for position, (sort, form) in enumerate(_passed(kernel, kind)):
        type_, reader = _READ[sort]
        yield f"{type_}a{position};"
        reads.append(f"{reader}(args[{position}], &a{position})")
        passed.append(form.format(f"a{position}"))
    checks = "".join(f" || !{read}" for read in reads)
    yield f"if (count != {len(reads)}{checks})\n    return refused({c_literal(function)});"
    yield "PyThreadState *const thread = PyEval_SaveThread();"
    yield f"const int status = {function}({', '.join(passed)});"
    yield "PyEval_RestoreThread(thread);"
    yield f"return finished({c_literal(kernel.operator)}, status);"


def _passed(kernel: CudaKernel, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the sort of each number that Python hands over, and how it is passed on; `kind` is the type of the kernel's
    dtype. Lists, and numbers that may be left out, are read where they are on the host."""
    sizes = {"elementwise": 0, "contiguous": 1, "strided": 2}[kernel.convention]
    if kernel.convention == "elementwise":
        yield "int", "{}"
    for argument in kernel.parameters:
        own = CUDA_TYPES[argument.dtype] if argument.dtype else kind
        if argument.sort == "array":
            yield "pointer", f"({'' if argument.is_written else 'const '}{own} *){{}}"
            if sizes:
                yield "bool", "{}"
            yield from (("sizes", "{}.at") for _ in range(sizes))
        elif argument.is_list:
            yield "pointer", f"(const {EACH[argument.sort]} *){{}}"
            yield "int", "{}"
        elif argument.sort == "text":
            yield "text", "{}"
        elif argument.is_optional or argument.sort == "scalar":
            read = f"(const {kind if argument.sort == 'scalar' else ONE[argument.sort]} *){{}}"
            yield "pointer", read if argument.is_optional else f"*{read}"
        else:
            yield argument.sort, "{}"
    yield "pointer", "{}"
