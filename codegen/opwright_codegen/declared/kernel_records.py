"""Kernels of a declared set as plain data: the kind of each, and what it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from opwright_codegen.kernel_choices.bind import (
    Binding,
    CudaKernel,
    DeviceKernel,
    Elsewhere,
    FunctionalOf,
    Inline,
    Jitted,
    Looped,
    Named,
    Native,
    Torch,
    Unbound,
    VariantOf,
)
from opwright_codegen.kernel_choices.metas import Plans
from opwright_codegen.kernels.forms import NumbaKernel, kernel_form
from opwright_codegen.read.model import Kernel
from opwright_codegen.source import Span

__all__ = ["kernel_record"]


def kernel_record(binding: Binding, place: Callable[[Span], dict[str, Any]]) -> dict[str, Any]:
    """Return the kernel of one operator and key. `text` and `location` are None if no schema file names the kernel."""
    declared = binding.view.operator.kernel(binding.key)
    kind, calls = _called(binding, declared)
    return {
        "key": binding.key,
        "kind": kind,
        "calls": calls,
        "text": None if declared is None else declared.text,
        "location": None if declared is None else place(declared.span),
    }


def _called(binding: Binding, declared: Kernel | None) -> tuple[str, str | None]:
    """Return the kind of a kernel, and what it calls by name: a function, an operator, a symbol of a library."""
    kernel = binding.kernel
    if declared is None and binding.key == "Meta" and isinstance(binding.meta, Plans):
        return "meta", None
    match kernel:
        case Looped():
            return "expression", kernel.name
        case Inline():
            return "formula", None
        case Jitted():
            return "numba", f"{kernel.function.module}:{kernel.function.name}"
        case Named():
            return "function", f"{kernel.function.module}:{kernel.function.name}"
        case Elsewhere():
            is_numba = declared is not None and isinstance(kernel_form(declared), NumbaKernel)
            return "numba" if is_numba else "tvm_ffi", kernel.name
        case Native():
            return "native", kernel.name
        case CudaKernel():
            return "raw" if kernel.raw else "nvcc", kernel.name
        case DeviceKernel():
            return "triton", kernel.name
        case Torch():
            return "torch", kernel.name
        case Unbound():
            return "unbound", kernel.name
        case VariantOf():
            return "variant", kernel.view.name
        case FunctionalOf():
            return "functional", kernel.view.name
        case _:
            assert_never(kernel)
