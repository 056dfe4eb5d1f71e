"""Targets `native/NS_cuda.h` and `native/FILE.cu`: prototypes of CUDA kernels, and the sources that CuPy compiles.

Note [CUDA sources]
A source of the project is put into the package whole, with what it includes and the generated prototypes: the package
then runs where the project is not, and CuPy's cache on disk, which knows a kernel by its text, sees every change. Lines
`#line` have compilers speak of the project's files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from opwright_codegen.declared.parts import CudaKernel
from opwright_codegen.targets.cuda.c import CudaFunctions, cuda_header, header_name
from opwright_codegen.targets.native.c import FOLDER
from opwright_codegen.views.c_text import c_comment

__all__ = ["HEADER_TEMPLATE", "TEMPLATE", "context", "files", "header_context", "header_file", "source_name"]

TEMPLATE = "cuda_source.cu.j2"
HEADER_TEMPLATE = "cuda_header.h.j2"


def header_file(namespace: str) -> str:
    """Return the name of the header's file."""
    return f"{FOLDER}/{header_name(namespace)}"


def header_context(kernels: Sequence[CudaFunctions], namespace: str) -> dict[str, object] | None:
    """Return what the template of the header shows; None where there is no CUDA kernel."""
    return cuda_header(kernels, namespace) if kernels else None


def source_name(kernel: CudaKernel) -> str:
    """Return the name of the file in the package that has the kernel's source."""
    path = kernel.file.path
    name = re.sub(r"[^A-Za-z0-9]", "_", path.removesuffix(".cu"))
    is_plain = re.fullmatch(r"[A-Za-z0-9/]+\.cu", path)  # no other path has the same name
    return f"{name}.cu" if is_plain else f"{name}_{sha256(path.encode()).hexdigest()[:6]}.cu"


def files(kernels: Sequence[CudaFunctions]) -> Mapping[str, CudaFunctions]:
    """Return the names of the files with sources, each with a kernel of it."""
    return {f"{FOLDER}/{source_name(each.kernel)}": each for each in kernels if each.kernel.raw}


def context(each: CudaFunctions, kernels: Sequence[CudaFunctions], namespace: str) -> dict[str, object]:
    """Return what the template of a source shows."""
    file = each.kernel.file
    own = [kernel for kernel in kernels if kernel.kernel.raw and kernel.kernel.file.path == file.path]
    return {
        **cuda_header(own, namespace),
        "path": " ".join(c_comment(file.path)),
        "text": file.text,
        "functions": [function for kernel in own for function in kernel.kernel.functions],
        "header_file": header_name(namespace),
    }
