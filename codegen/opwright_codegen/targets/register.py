"""Target `register.py`: the function that serves each operator and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.bindings.bind import (
    BACKENDS,
    Binding,
    FunctionalOf,
    Inline,
    Named,
    Unbound,
    VariantOf,
    composite_bindings,
)
from opwright_codegen.targets.autograd import Recording
from opwright_codegen.targets.composites import composite_names
from opwright_codegen.targets.inplace_or_view import wrapper_names
from opwright_codegen.targets.shims import ShimNames
from opwright_codegen.views.layout import LINE, bracketed, quoted

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "register.py.j2"
_KERNELS = "KERNELS: tuple[tuple[str, str, str, str, str, str], ...] = "
_WRAPPERS = "WRAPPERS: tuple[tuple[str, str, str, str], ...] = "
_MODULES = {"CPU": "KERNELS_CPU", "CUDA": "KERNELS_CUDA", "Meta": "FAKES"}


def context(
    bindings: Sequence[Binding],
    shims: Mapping[str, Mapping[str, ShimNames]],
    recordings: Sequence[Recording],
    skipped: Sequence[str],
) -> dict[str, object]:
    """Return what the template shows: a row for each kernel and each wrapper, one for each operator that autograd
    skips, and the modules that the rows speak of."""
    composites = composite_names(composite_bindings(bindings))
    rows = []
    modules = set()
    for binding in bindings:
        module, functions = _served(binding, shims, composites)
        modules.add(module)
        rows.append(_row((quoted(binding.view.name), quoted(binding.key), module, *map(quoted, functions))))
    wrappers = [
        _row((quoted(found.view.name), quoted(found.key), "AUTOGRAD", quoted(found.function))) for found in recordings
    ]
    if wrappers:
        modules.add("AUTOGRAD")
    marking = [
        _row((quoted(name), '"ADInplaceOrView"', "INPLACE_OR_VIEW", quoted(function)))
        for name, function in wrapper_names(bindings).items()
    ]
    skipping = [_row((quoted(name), '"Autograd"', '""', '""')) for name in skipped]
    if marking:
        modules.add("INPLACE_OR_VIEW")
    used = [
        (name, file)
        for name, file in (
            ("KERNELS_CPU", "kernels_cpu"),
            ("KERNELS_CUDA", "kernels_cuda"),
            ("FAKES", "fakes"),
            ("COMPOSITES", "composites"),
            ("AUTOGRAD", "autograd"),
            ("INPLACE_OR_VIEW", "inplace_or_view"),
        )
        if name in modules
    ]
    return {
        "kernels": _tuple(_KERNELS, rows) or f"{_KERNELS}()",
        "wrappers": _tuple(_WRAPPERS, wrappers + skipping + marking),
        "modules": used,
    }


def _served(
    binding: Binding, shims: Mapping[str, Mapping[str, ShimNames]], composites: Mapping[tuple[str, str], str]
) -> tuple[str, tuple[str, str, str]]:
    match binding.kernel:
        case Unbound(name):
            return '""', (name, "", "")
        case _ if binding.key in BACKENDS:
            names = shims[binding.key][binding.view.name]
            return _MODULES[binding.key], (names.general, names.dense, names.arrays)
        case Named(function):
            return quoted(function.module), (function.name, "", "")
        case Inline() | VariantOf() | FunctionalOf():
            return "COMPOSITES", (composites[binding.view.name, binding.key], "", "")


def _tuple(before: str, rows: Sequence[str]) -> str:
    """Return a tuple of rows, a row a line; a single one beside its name where it fits. Nothing for none."""
    if len(rows) == 1 and len(text := f"{before}({rows[0]},)") <= LINE:
        return text
    lines = "\n".join(f"    {row}," for row in rows)
    return f"{before}(\n{lines}\n)" if rows else ""


def _row(values: Sequence[str]) -> str:
    text = f"({', '.join(values)})"
    return text if len(text) + 5 <= LINE else bracketed("(", values, ")", 4, 1)
