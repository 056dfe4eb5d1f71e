"""The targets of compiled kernels: `native` and `cuda`, each a function from the declared set to files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from opwright_codegen.declared.model import DeclaredSet, Files, Template
from opwright_codegen.targets.cuda import c as cuda_c
from opwright_codegen.targets.cuda import index as cuda_index
from opwright_codegen.targets.cuda import loops as cuda_loops
from opwright_codegen.targets.cuda import shims as cuda_shims
from opwright_codegen.targets.cuda import sources as cuda_sources
from opwright_codegen.targets.native import c as native_c
from opwright_codegen.targets.native import foreign_kernels as native_elsewhere
from opwright_codegen.targets.native import header as native_header
from opwright_codegen.targets.native import index as native_index
from opwright_codegen.targets.native import loops as native_loops
from opwright_codegen.targets.native import shims as native_shims
from opwright_codegen.views.operators import NamespaceView

__all__ = ["cuda", "native"]


def native(declared: DeclaredSet) -> Files:
    """Return the C files of kernels and expressions."""
    view, bindings, namespace = declared.view, declared.bindings, declared.namespace
    kernels, loops = native_c.c_kernels(bindings), native_loops.loop_kernels(bindings)
    others = native_elsewhere.elsewhere_lines(bindings)
    on_device = [*cuda_c.cuda_functions(bindings), *cuda_loops.cuda_loops(bindings)]
    return {
        native_header.file(namespace): Template(
            native_header.TEMPLATE, view, lambda: native_header.context(kernels, namespace)
        ),
        native_shims.file(namespace): Template(
            native_shims.TEMPLATE, view, lambda: native_shims.context(kernels, loops, namespace)
        ),
        native_index.FILE: Template(
            native_index.TEMPLATE, view, lambda: native_index.context(kernels, loops, others, namespace)
        ),
        native_index.IGNORED: Template(
            native_index.IGNORED_TEMPLATE, view, lambda: native_index.ignored_context([*kernels, *loops, *on_device])
        ),
        **{name: _showing(template, view, shown) for name, template, shown in native_loops.files(loops, namespace)},
    }


def cuda(declared: DeclaredSet) -> Files:
    """Return the CUDA sources of kernels and expressions, and what finds them."""
    view, bindings, namespace = declared.view, declared.bindings, declared.namespace
    kernels, loops = cuda_c.cuda_functions(bindings), cuda_loops.cuda_loops(bindings)
    others = native_elsewhere.triton_lines(bindings)
    found = {
        cuda_sources.header_file(namespace): Template(
            cuda_sources.HEADER_TEMPLATE, view, lambda: cuda_sources.header_context(kernels, namespace)
        )
    }
    for name, each in cuda_sources.files(kernels).items():
        found[name] = Template(cuda_sources.TEMPLATE, view, partial(cuda_sources.context, each, kernels, namespace))
    for name, template, loop in cuda_loops.files(loops):
        found[name] = _showing(template, view, loop)
    found[cuda_index.FILE] = Template(
        cuda_index.TEMPLATE, view, lambda: cuda_index.context(kernels, loops, others, namespace)
    )
    found[cuda_shims.file(namespace)] = Template(
        cuda_shims.TEMPLATE, view, lambda: cuda_shims.context(kernels, namespace)
    )
    found[cuda_shims.sources_file(namespace)] = Template(
        cuda_shims.SOURCES_TEMPLATE, view, lambda: cuda_shims.sources_context(kernels)
    )
    return found


def _showing(template: str, view: NamespaceView, shown: Mapping[str, object] | None) -> Template:
    """Return a file whose content is computed already."""
    return Template(template, view, lambda: shown)
