"""Target `native/NS_cuda_shims.cu`: between Python and functions of the host that launch CUDA kernels.

A shim gets numbers alone: sizes, addresses on the device, which nothing here reads, and tuples for shapes and strides.
The Python that calls it prepared the operands (`opwright.plans.device_kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.bindings.cuda import CudaKernel
from opwright_codegen.targets.cuda_c import CudaFunctions, cuda_digest, header_name
from opwright_codegen.targets.native_c import FOLDER
from opwright_codegen.views.c_text import c_block, c_literal

__all__ = ["SOURCES", "SOURCES_TEMPLATE", "TEMPLATE", "context", "file", "module", "sources_context", "sources_file"]

TEMPLATE = "cuda_shims.cu.j2"
SOURCES_TEMPLATE = "cuda_sources.txt.j2"
SOURCES = "_cuda_sources.txt"
_READ = {"float": ("double", "to_double"), "int": ("int64_t", "to_int64"), "bool": ("int", "to_int")}


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
    for place, (sort, is_const) in enumerate(_passed(kernel)):
        name = f"a{place}"
        if sort == "sizes":
            yield f"struct sizes {name};"
            reads.append(f"to_sizes(args[{place}], &{name})")
            passed.append(f"{name}.at")
        elif sort == "pointer":
            yield f"void *{name};"
            reads.append(f"to_pointer(args[{place}], &{name})")
            passed.append(f"({'const ' if is_const else ''}{kind} *){name}")
        elif sort == "stream":
            yield f"void *{name};"
            reads.append(f"to_pointer(args[{place}], &{name})")
            passed.append(name)
        else:
            type_, reader = _READ[sort]
            yield f"{type_} {name};"
            reads.append(f"{reader}(args[{place}], &{name})")
            passed.append(name)
    checks = "".join(f" || !{read}" for read in reads)
    yield f"if (count != {len(reads)}{checks})\n    return refused({c_literal(function)});"
    yield "PyThreadState *const thread = PyEval_SaveThread();"
    yield f"const int status = {function}({', '.join(passed)});"
    yield "PyEval_RestoreThread(thread);"
    yield f"return finished({c_literal(kernel.operator)}, status);"


def _passed(kernel: CudaKernel) -> Iterator[tuple[str, bool]]:
    """Yield the sort of each argument, and whether it is of an operand, which is not written."""
    geometry = {"elementwise": (), "contiguous": ("bool", "sizes"), "strided": ("bool", "sizes", "sizes")}
    if kernel.convention == "elementwise":
        yield "int", True
    for sort, is_const in [*((a.sort, True) for a in kernel.arguments), *(("array", False) for _ in kernel.results)]:
        if sort != "array":
            yield sort, True
            continue
        yield "pointer", is_const
        yield from ((each, True) for each in geometry[kernel.convention])
    yield "stream", True
