"""The names of shims: of the functions that handle an operator, and of what these use beside their arguments."""

from __future__ import annotations

from opwright_codegen.records import dataclass
from opwright_codegen.targets.kernels.dense import DenseFacts
from opwright_codegen.targets.kernels.loop_facts import LoopFacts
from opwright_codegen.targets.kernels.metas import MetaNames
from opwright_codegen.targets.native.facts import NativeFacts

__all__ = ["RESERVED", "ShimNames"]

# What shims use beside their arguments.
RESERVED = (
    "Any", "DENSE_CPU", "DENSE_CUDA", "DType", "DTypeLike", "Device", "Exception", "Generator", "ViewCache", "Layout",
    "MemoryFormat", "NDArray", "NotImplemented", "OverflowError", "Scalar", "Sequence", "Tensor", "TypeError",
    "ValueError", "_", "annotations", "array_module", "call_torch", "builtins", "call_torch", "complex", "cp",
    "cuda_kernel", "dtypes", "error", "fake", "fake_kernel", "float", "inplace_variant", "int", "item", "kernel",
    "made", "math", "metas", "name_kernel", "native", "native_cuda", "native_kernel", "new_fake", "new_place",
    "new_result", "new_results", "np", "number_of", "out_variant", "place", "place_of", "place_of_first", "plan",
    "plan_of", "plans", "plans_of", "result", "results", "results_of", "rules", "target", "type", "wrap", "wrap_list",
    "wrap_result", "wrap_view", "wrap_views", "zip",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShimNames:
    """The functions of a backend's module that handle an operator; '' where there is none. `cache` is the view cache of
    views, `meta` is the function that makes plans; `is_trusted` is the package."""

    general: str
    dense: str
    arrays: str
    facts: DenseFacts | NativeFacts | LoopFacts | None
    cache: str = ""
    meta: MetaNames | None = None
    is_trusted: bool = False
