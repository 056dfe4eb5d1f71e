"""All that generated code may import of the runtime, beside kernels, under one version.

What a name is may change with `VERSION` alone. Packages of versions from `_OLDEST` on are supported, also with names
that no template uses any more (`opwright.former.abi_names`); one of another version is refused, with the command that
generates it again. Names of interpreters load them when they are first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opwright_core.arrays import dtypes
from opwright_core.arrays.annotations import Scalar
from opwright_core.arrays.devices import Device, is_array
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.conversion import INTS, is_dtype, is_int_list
from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.lookup import find0, find1, find2, find3, find_items, find_list, find_some
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.dispatch.package.generated import Declarations, Overloaded, function_of, result_class, stub_of
from opwright_core.dispatch.package.kernel_rows import cuda_kernel, inplace_variant, kernel, native_kernel, out_variant
from opwright_core.dispatch.package.parts import functions_of
from opwright_core.dispatch.package.parts import install as _install
from opwright_core.dispatch.registry.forward_rules import ForwardRule, TangentFormula
from opwright_core.keys import ARRAYS, DENSE_CPU, DENSE_CUDA
from opwright_core.names.late_imports import import_late
from opwright_core.places import where_declared
from opwright_core.plans.alike import alike
from opwright_core.plans.plan_cache import ViewCache
from opwright_core.state import active_modes
from opwright_core.tensors.results import (
    new_result,
    new_results,
    plan_of,
    plans_of,
    results_of,
    wrap_list,
    wrap_result,
)
from opwright_core.tensors.tensor import Tensor, wrap_views
from opwright_core.tensors.wrapping import wrap, wrap_view

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
    from opwright.fake import array_module
    from opwright.fake.kernels import fake_kernel
    from opwright.fake.modes import new_place
    from opwright.fake.results import fake, new_fake, place_of, place_of_first
    from opwright.generators.generator import Generator
    from opwright.native_kernels.libraries import NativeLibrary
    from opwright.part_methods import install_methods
    from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
    from opwright.user_kernels.returns import as_tuple, number_of
    from opwright.variants import copy_written, write_out, write_outs, write_self
    from opwright_core import rules

VERSION: Final = 6
_OLDEST: Final = 4  # of the packages that this module supports, too
_TUPLES: Final = 6  # the first whose packages give rows of tuples, not of texts

# The names of what is loaded when it is first asked for, by module.
_LATER: Final = {
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
    "opwright.part_methods": ("install_methods",),
    "opwright.user_kernels.returns": ("as_tuple", "number_of"),
    "opwright.variants": ("copy_written", "write_out", "write_outs", "write_self"),
    "opwright.fake.kernels": ("fake_kernel",),
    "opwright.fake.modes": ("new_place",),
    "opwright.fake.results": ("fake", "new_fake", "place_of", "place_of_first"),
    "opwright.generators.generator": ("Generator",),
    "opwright.native_kernels.libraries": ("NativeLibrary",),
    "opwright.symbolic.numbers": ("SymBool", "SymFloat", "SymInt"),
}  # fmt: skip
_HOMES: Final = {name: module for module, names in _LATER.items() for name in names}
_MODULES: Final = {"array_module": "opwright.fake.array_module", "rules": "opwright_core.rules"}  # whole ones

__all__ = [
    "ARRAYS", "DENSE_CPU", "DENSE_CUDA", "INTS", "NOT_GIVEN", "VERSION", "Along", "ByHand", "CudaHostKernel",
    "CudaHostWriter", "CudaKernel", "CudaLoop", "CudaSource", "CudaWriter", "DType", "Declarations", "Device", "Edge",
    "Elementwise", "Everything", "Family", "Folded", "ForwardRule", "Generator", "LaunchRule", "Layout", "Leading",
    "MemoryFormat", "NativeLibrary", "Operator", "Overloaded", "Packet", "Product", "Recorded", "RecordedSeveral",
    "Reducing", "Scalar", "SymBool", "SymFloat", "SymInt", "TangentFormula", "Tensor", "ViewCache", "active_modes",
    "adjoint_of", "alike", "array_module", "as_tuple", "autocast_wrapper", "conjugate_of", "copy_written",
    "cuda_kernel", "dtypes", "expanded", "fake", "fake_kernel", "find0", "find1", "find2", "find3", "find_items",
    "find_list", "find_some", "function_of", "functions_of", "gradients_of", "inplace_recorder", "inplace_variant",
    "install", "install_methods", "is_array", "is_dtype", "is_int_list", "kept_argument", "kept_counts", "kept_numel",
    "kept_result_value", "kept_shape", "kept_storage_offset", "kept_stride", "kept_value", "kernel", "name_kernel",
    "native_kernel", "new_fake", "new_place", "new_result", "new_results", "not_implemented", "number_of", "or_zeros",
    "out_recorder", "out_variant", "place_of", "place_of_first", "plan_of", "plans_of", "recorded_if", "recorder",
    "refuse_recording", "reshaped", "result_class", "results_of", "rules", "saved_result", "saved_tensor",
    "split_edges", "stub_of", "sum_terms", "swapped", "turned", "unpack", "unpack_all", "unpack_optional",
    "where_declared", "wrap", "wrap_list", "wrap_result", "wrap_view", "wrap_views", "write_out", "write_outs",
    "write_self", "zeros_for",
]  # fmt: skip


def name_kernel(error: Exception, name: str, key: str) -> None:
    """Note on an error which operator's expression raised it, for which key, and where that is declared."""
    import_late("opwright.inspection.kernel_sources").name_kernel(error, name, key)


def install(
    namespace: str,
    version: int,
    package: Any = "",
    operators: Any = (),
    places: Mapping[str, str] = MappingProxyType({}),
    batching: Sequence[str] = (),
    *,
    trusted: bool = False,
) -> None:
    """Define the operators of a generated package, and register what handles them (`parts.install`). Kernels that are
    `trusted` return what is declared, and raise errors that say what is wrong.

    Raises ImportError where the package was generated for a version of this module that it does not support.
    """
    if not _OLDEST <= version <= VERSION:
        raise _other_version(f"the generated package of {namespace!r} is for version {version} of opwright_core.abi")
    if version < _TUPLES and operators:
        operators = import_late("opwright.former.rows").rows_of_texts(operators)
    _install(package, namespace, operators, places, batching, trusted=trusted)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found: Any = importlib.import_module(_MODULES[name])
    elif name.startswith("__"):
        raise AttributeError(name)
    elif module := _HOMES.get(name) or import_late("opwright.former.abi_names").HOMES.get(name):
        found = getattr(importlib.import_module(module), name)
    else:
        raise _other_version(f"opwright_core.abi has no {name!r}")
    globals()[name] = found
    return found


def _other_version(what: str) -> ImportError:
    return ImportError(f"{what}, and this is version {VERSION}: run `opwright generate` again with this Opwright")
