"""C kernels: which operators a C function can handle, and what the loops of expressions are called."""

from __future__ import annotations

import re
from typing import Final

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernel_choices.metas import Meta, Plans
from opwright_codegen.kernel_choices.signatures import FunctionKernel, Language, signature_of
from opwright_codegen.read.model import Kernel, Operator, OperatorSet
from opwright_codegen.read.native import layout_of
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span
from opwright_codegen.views.names import Namer

__all__ = ["Native", "check_native_meta", "loop_names", "native_kernel"]

_IMPORTED: Final = (
    "CudaHostKernel", "CudaHostWriter", "CudaKernel", "CudaLoop", "CudaSource", "CudaWriter", "LaunchRule",
    "NativeLibrary", "NumbaArrays", "NumbaFunction", "TritonKernel", "TritonWriter", "TvmFunction", "dirname",
)  # fmt: skip
_C: Final = Language(
    "native",
    "C",
    "they take Tensor, float, int, bool, Scalar and str, each also with '?'; and lists of float, int, bool",
)


@dataclass(frozen=True, slots=True)
class Native(FunctionKernel):
    """A C kernel; functions of one that `is_parallel` are called on ranges, in several threads at once."""

    is_parallel: bool = False


def native_kernel(name: str, base: Operator, key: str, span: Span) -> Native:
    """Return the C kernel of an operator. Raises SchemaError for an operator that no C function can handle."""
    if key != "CPU":
        raise SchemaError("native-key", f"a C kernel serves CPU, not {key}", span, "write 'CPU: native:…'")
    arguments, results = signature_of(base, span, _C)
    assert base.convention is not None and base.dtypes  # rules say so
    layout, is_parallel = layout_of(base.convention)
    return Native(name, base.name, layout, base.dtypes, arguments, results, is_parallel)


def loop_names(operators: OperatorSet) -> dict[str, str]:
    """Return what the loops of each expression, and kernels that are written elsewhere, are called, by the operator: no
    two the same, nor as a kernel in C or CUDA is, nor as what the modules of these import."""
    kernels = [kernel.text.strip() for operator in operators.operators.values() for _, kernel in operator.dispatch]
    others = [re.split("::|:", text)[-1] for text in kernels if text.startswith(("native:", "raw:", "nvcc:"))]
    namer = Namer([*others, *_IMPORTED])
    found = {}
    for operator in operators.operators.values():
        if operator.expression is not None or any(map(_is_elsewhere, operator.dispatch)):
            name = operator.schema.name
            wanted = f"{name.base}_{name.overload}" if name.overload else name.base
            found[operator.name] = namer.claim(wanted.lstrip("_") or "loop")
    return found


def _is_elsewhere(entry: tuple[str, Kernel]) -> bool:
    return entry[1].text.strip().startswith(("numba:", "triton:", "tvm_ffi:"))


def check_native_meta(kernel: Native, meta: Meta, span: Span) -> None:
    """Raise SchemaError unless `meta` says what results look like: they are allocated by it."""
    if kernel.writes:
        return
    if not isinstance(meta, Plans):
        message = f"{kernel.operator} has no 'meta' by which the C kernel's results could be allocated"
        raise SchemaError("native-meta", message, span, "add for example 'meta: pointwise(self, other)'")
