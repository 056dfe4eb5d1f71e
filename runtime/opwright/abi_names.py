"""The names of the library that generated code imports from `opwright_core.abi`, by the modules that have them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opwright.amp.wrappers import autocast_wrapper
    from opwright.autograd.fields import (
        kept_argument,
        kept_counts,
        kept_numel,
        kept_result_value,
        kept_shape,
        kept_storage_offset,
        kept_stride,
        kept_value,
        recorded_if,
        saved_result,
        saved_tensor,
    )  # fmt: skip
    from opwright.autograd.forward import or_zeros, sum_terms
    from opwright.autograd.nodes import Edge, Recorded, RecordedSeveral, gradients_of, split_edges
    from opwright.autograd.quick import adjoint_of, conjugate_of, expanded, reshaped, swapped, turned, zeros_for
    from opwright.autograd.recorders import inplace_recorder, out_recorder, recorder
    from opwright.autograd.recording import not_implemented, refuse_recording
    from opwright.autograd.saved import unpack, unpack_all, unpack_optional
    from opwright.batching.along import Along, Everything
    from opwright.batching.families import Elementwise
    from opwright.batching.hand import ByHand
    from opwright.batching.leading import Folded, Leading
    from opwright.batching.products import Product, Reducing
    from opwright.batching.tables import Family
    from opwright.cuda_kernels.kernels import CudaHostKernel, CudaKernel
    from opwright.cuda_kernels.launches import LaunchRule
    from opwright.cuda_kernels.loops import CudaLoop
    from opwright.cuda_kernels.sources import CudaSource
    from opwright.cuda_kernels.writers import CudaHostWriter, CudaWriter
    from opwright.dimensions.declared import Dimensions
    from opwright.dimensions.windows import At, Windows
    from opwright.fake import array_module
    from opwright.fake.kernels import fake_kernel
    from opwright.fake.modes import new_place
    from opwright.fake.planned_results import fake, new_fake, place_of, place_of_first
    from opwright.foreign_kernels.numba_kernels import NumbaArrays, NumbaFunction
    from opwright.foreign_kernels.triton_kernels import TritonKernel, TritonWriter
    from opwright.foreign_kernels.tvm_kernels import TvmFunction
    from opwright.registering.late_methods import install_methods
    from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
    from opwright.variants.writing import copy_written, write_out, write_outs, write_self

__all__ = [
    "Along", "At", "ByHand", "CudaHostKernel", "CudaHostWriter", "CudaKernel", "CudaLoop", "CudaSource", "CudaWriter",
    "Dimensions", "Edge", "Elementwise", "Everything", "Family", "Folded", "LaunchRule", "Leading",
    "NumbaArrays", "NumbaFunction", "Product", "Recorded", "RecordedSeveral", "Reducing", "SymBool",
    "SymFloat", "SymInt", "TritonKernel", "TritonWriter", "TvmFunction", "Windows", "adjoint_of", "array_module",
    "autocast_wrapper", "conjugate_of", "copy_written", "expanded", "fake", "fake_kernel",
    "gradients_of", "inplace_recorder", "install_methods", "kept_argument", "kept_counts", "kept_numel",
    "kept_result_value", "kept_shape", "kept_storage_offset", "kept_stride", "kept_value", "new_fake",
    "new_place", "not_implemented", "or_zeros", "out_recorder", "place_of", "place_of_first",
    "recorded_if", "recorder", "refuse_recording", "reshaped", "saved_result", "saved_tensor", "split_edges",
    "sum_terms", "swapped", "turned", "unpack", "unpack_all", "unpack_optional", "write_out", "write_outs",
    "write_self", "zeros_for",
]  # fmt: skip

_CURRENT: Final = {
    "opwright.amp.wrappers": ("autocast_wrapper",),
    "opwright.autograd.fields": (
        "kept_argument", "kept_counts", "kept_numel", "kept_result_value", "kept_shape", "kept_storage_offset",
        "kept_stride", "kept_value", "recorded_if", "saved_result", "saved_tensor",
    ),
    "opwright.autograd.forward": ("or_zeros", "sum_terms"),
    "opwright.autograd.nodes": ("Edge", "Recorded", "RecordedSeveral", "gradients_of", "split_edges"),
    "opwright.autograd.quick": ("adjoint_of", "conjugate_of", "expanded", "reshaped", "swapped", "turned", "zeros_for"),
    "opwright.autograd.recorders": ("inplace_recorder", "out_recorder", "recorder"),
    "opwright.autograd.recording": ("not_implemented", "refuse_recording"),
    "opwright.autograd.saved": ("unpack", "unpack_all", "unpack_optional"),
    "opwright.batching.along": ("Along", "Everything"),
    "opwright.batching.families": ("Elementwise",),
    "opwright.batching.hand": ("ByHand",),
    "opwright.batching.leading": ("Folded", "Leading"),
    "opwright.batching.products": ("Product", "Reducing"),
    "opwright.batching.tables": ("Family",),
    "opwright.cuda_kernels.kernels": ("CudaHostKernel", "CudaKernel"),
    "opwright.cuda_kernels.launches": ("LaunchRule",),
    "opwright.cuda_kernels.loops": ("CudaLoop",),
    "opwright.cuda_kernels.sources": ("CudaSource",),
    "opwright.cuda_kernels.writers": ("CudaHostWriter", "CudaWriter"),
    "opwright.dimensions.declared": ("Dimensions",),
    "opwright.dimensions.windows": ("At", "Windows"),
    "opwright.foreign_kernels.numba_kernels": ("NumbaArrays", "NumbaFunction"),
    "opwright.foreign_kernels.triton_kernels": ("TritonKernel", "TritonWriter"),
    "opwright.foreign_kernels.tvm_kernels": ("TvmFunction",),
    "opwright.fake": ("array_module",),
    "opwright.fake.kernels": ("fake_kernel",),
    "opwright.fake.modes": ("new_place",),
    "opwright.fake.planned_results": ("fake", "new_fake", "place_of", "place_of_first"),
    "opwright.registering.late_methods": ("install_methods",),
    "opwright.symbolic.numbers": ("SymBool", "SymFloat", "SymInt"),
    "opwright.variants.writing": ("copy_written", "write_out", "write_outs", "write_self"),
}  # fmt: skip
HOMES: Final = {name: module for module, names in _CURRENT.items() for name in names}


class _Interface:
    """The names, each loaded when it is asked for (`opwright_core.late_bound.Interface`)."""

    def has(self, name: str) -> bool:
        return name in HOMES

    def load(self, name: str) -> Any:
        home = import_module(HOMES[name])
        return getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")


interface: Final = _Interface()
