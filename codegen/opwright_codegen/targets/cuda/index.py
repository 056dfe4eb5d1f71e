"""Target `native/cuda.py`: the CUDA kernels as Python calls them."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.declared.parts import SUFFIXES, CudaKernel, Launch, NativeResult
from opwright_codegen.targets.cuda.c import CudaFunctions, cuda_digest
from opwright_codegen.targets.cuda.loops import index_lines
from opwright_codegen.targets.cuda.shims import module
from opwright_codegen.targets.cuda.sources import source_name
from opwright_codegen.targets.native.c import FOLDER
from opwright_codegen.targets.native.facts import ShapeOf
from opwright_codegen.targets.native.foreign_kernels import ElsewhereLine
from opwright_codegen.targets.native.loops import LoopKernel
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = f"{FOLDER}/cuda.py"
TEMPLATE = "cuda_index.py.j2"


def context(
    kernels: Sequence[CudaFunctions], loops: Sequence[LoopKernel], others: Sequence[ElsewhereLine], namespace: str
) -> dict[str, object] | None:
    """Return what the template shows; None where there is no CUDA kernel, no expression, and none of Triton."""
    if not kernels and not loops and not others:
        return None
    raw = [each.kernel for each in kernels if each.kernel.raw]
    host = [each.kernel for each in kernels if not each.kernel.raw]
    sources = {source: f"_SOURCE{position}" for position, source in enumerate(dict.fromkeys(map(_source, raw)))}
    loaded = f"{quoted(module(namespace))}, {quoted(cuda_digest(kernels))}"
    library = [f"_LIBRARY = NativeLibrary(__name__, dirname(__file__), {loaded})"] if host else []
    names = [
        *(["CudaSource"] if raw or loops else []),
        *(["CudaLoop"] if loops else []),
        *(["LaunchRule"] if raw or others else []),
        *(["NativeLibrary"] if host else []),
        *{_class(each.kernel) for each in kernels},
        *{each.maker for each in others},
    ]
    return {
        "imports": import_lines(names),
        "has_library": bool(host),
        "modules": [_made(name, source) for source, name in sources.items()] + library,
        "kernels": [
            *(_line(each, sources[_source(each.kernel)] if each.kernel.raw else "") for each in kernels),
            *index_lines(loops),
            *(each.text for each in others),
        ],
    }  # fmt: skip


def _source(kernel: CudaKernel) -> tuple[str, tuple[str, ...]]:
    return source_name(kernel), kernel.launch.options


def _made(name: str, source: tuple[str, tuple[str, ...]]) -> str:
    file, options = source
    return bracketed(f"{name} = CudaSource(", ["__file__", quoted(file), tuple_text(list(map(quoted, options)))], ")")


def _line(each: CudaFunctions, source: str) -> str:
    kernel = each.kernel
    named = zip(kernel.dtypes, kernel.functions, strict=True)
    functions = bracketed("{", [f"{quoted(dtype)}: {quoted(name)}" for dtype, name in named], "}", 4, 1)
    arguments = tuple_text([quoted(str(argument)) for argument in kernel.arguments])
    items = [quoted(kernel.operator), quoted(kernel.convention), functions, arguments]
    if not kernel.writes:
        items.append(tuple_text([quoted(text) for text in map(_result, kernel.results, each.shapes)]))
    if kernel.raw:
        items.append(f"launch={_launch(kernel)}")
    return bracketed(f"{kernel.name} = {_class(kernel)}(", [source or "_LIBRARY", *items], ")")


def _class(kernel: CudaKernel) -> str:
    """Return the class of the runtime that handles the kernel."""
    return f"Cuda{'' if kernel.raw else 'Host'}{'Writer' if kernel.writes else 'Kernel'}"


def _result(result: NativeResult, shape: ShapeOf | None) -> str:
    """Return what the runtime is told of a result: the dtype that it always has, and the array that it is like."""
    if shape is None:
        return result.dtype
    reduced = "" if shape.dim is None else f" over {shape.dim}{' kept' * shape.keeps}"
    return f"{result.dtype} like {shape.array}{reduced}".lstrip()


def _launch(kernel: CudaKernel) -> str:
    """Return the launch as it is declared, shared memory for each dtype."""
    launch, default = kernel.launch, Launch()
    said = [
        f"{name}={getattr(launch, name)}"
        for name in ("threads", "elements", "shared_limit", "ndim")
        if getattr(launch, name) != getattr(default, name)
    ]
    shared = [launch.shared_bytes(SUFFIXES[dtype][1]) for dtype in kernel.dtypes]
    if any(shared):
        said.append(f"shared={tuple_text(list(map(str, shared)))}")
    if launch.dims:
        said.append(f"dims={tuple_text([f'({quoted(name)}, {ndim})' for name, ndim in launch.dims])}")
    if launch.grid != default.grid:
        said.append(f"grid={quoted(launch.grid)}")
    if launch.rows_of:
        said.append(f"rows_of={quoted(launch.rows_of)}")
    return f"LaunchRule({', '.join(said)})"
