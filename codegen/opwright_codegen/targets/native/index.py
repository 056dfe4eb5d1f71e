"""Target `native/__init__.py`: the C kernels as Python calls them; and the list of what is built beside it."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.targets.native.c import FOLDER, CKernel
from opwright_codegen.targets.native.digest import digest
from opwright_codegen.targets.native.foreign_kernels import ElsewhereLine
from opwright_codegen.targets.native.loops import LoopKernel
from opwright_codegen.targets.native.shims import module
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["FILE", "IGNORED", "IGNORED_TEMPLATE", "TEMPLATE", "context", "ignored_context"]

FILE = f"{FOLDER}/__init__.py"
TEMPLATE = "native_index.py.j2"
IGNORED = f"{FOLDER}/.gitignore"
IGNORED_TEMPLATE = "native_gitignore.j2"


def context(
    kernels: Sequence[CKernel], loops: Sequence[LoopKernel], others: Sequence[ElsewhereLine], namespace: str
) -> dict[str, object] | None:
    """Return what the template shows; None where there is no C kernel, no expression, and nothing written elsewhere."""
    if not kernels and not loops and not others:
        return None
    has_library = bool(kernels or loops)
    return {
        "imports": import_lines([*(["NativeLibrary"] if has_library else []), *{each.maker for each in others}]),
        "has_library": has_library,
        "module": quoted(module(namespace)),
        "digest": quoted(digest(kernels, loops)),
        "kernels": [*map(_line, kernels), *map(_loop_line, loops), *(each.text for each in others)],
    }


def ignored_context(kernels: Sequence[object]) -> dict[str, object] | None:
    """Return what the template shows; None where there is nothing to build."""
    return {} if kernels else None


def _loop_line(loop: LoopKernel) -> str:
    items = [quoted(loop.name), quoted(loop.operator), *filter(None, [loop.numbers])]
    return bracketed(f"{loop.name} = _LIBRARY.loop(", items, ")")


def _line(kernel: CKernel) -> str:
    native = kernel.native
    arguments = tuple_text([quoted(str(argument)) for argument in native.arguments])
    dtypes = tuple_text([quoted(dtype) for dtype in native.dtypes])
    items = [quoted(native.name), quoted(native.operator), quoted(native.convention), dtypes, arguments]
    if native.writes:
        return bracketed(f"{native.name} = _LIBRARY.writer(", items, ")")
    results = tuple_text([quoted(result.dtype) for result in native.results])
    return bracketed(f"{native.name} = _LIBRARY.kernel(", [*items, results], ")")
