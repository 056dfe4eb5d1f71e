"""All that generated code may import of the runtime, beside kernels, under one version.

What a name is may change with `VERSION` alone. Packages of versions from `_OLDEST` on are served, which is what names
are for that no template uses any more; one of another version is refused, with the command that generates it again.
Names of interpreters load them when they are first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opwright.arrays import dtypes
from opwright.arrays.annotations import Scalar
from opwright.arrays.devices import Device, is_array
from opwright.arrays.dtypes import DType, plain_dtypes
from opwright.arrays.formats import Layout, MemoryFormat
from opwright.arrays.generator import Generator
from opwright.arrays.sizes import SymBool, SymFloat, SymInt
from opwright.dispatch.conversion import INTS, is_dtype, is_int_list
from opwright.dispatch.forward_rules import ForwardRule, TangentFormula
from opwright.dispatch.generated import Declarations, Overloaded, function_of, result_class, stub_of
from opwright.dispatch.keywords import NOT_GIVEN
from opwright.dispatch.lookup import find0, find1, find2, find3, find_items, find_list, find_some
from opwright.dispatch.operator import Operator
from opwright.dispatch.packets import Packet
from opwright.dispatch.parts import functions_of
from opwright.dispatch.parts import install as _install
from opwright.dispatch.returns import as_tuple, number_of
from opwright.dispatch.ufunc_shims import ufunc_shim, ufunc_shims
from opwright.dispatch.variants import copy_written, write_out, write_outs, write_self
from opwright.keys import ARRAYS, DENSE_CPU, DENSE_CUDA, GRAD
from opwright.places import where_declared
from opwright.plans.alike import alike
from opwright.plans.known import KnownForms, KnownViews
from opwright.plans.plan import cast_operands
from opwright.plans.writing import Plan
from opwright.state import active_modes
from opwright.tensors.results import (
    known_result,
    new_result,
    new_results,
    plan_of,
    plans_of,
    results_of,
    wrap_list,
    wrap_result,
)
from opwright.tensors.tensor import Tensor, wrap_views
from opwright.tensors.wrapping import wrap, wrap_view

if TYPE_CHECKING:
    from opwright import rules
    from opwright.amp.wrappers import autocast_wrapper
    from opwright.autograd.forward import or_zeros, sum_terms
    from opwright.autograd.nodes import Edge, Recorded, RecordedSeveral, gradients_of, next_sequence, split_edges
    from opwright.autograd.quick import adjoint_of, conjugate_of, expanded, reshaped, swapped, turned, zeros_for
    from opwright.autograd.recorders import records
    from opwright.autograd.recording import (
        Kernel,
        check_inplace,
        check_no_gradient,
        edges_of,
        move_history,
        not_implemented,
        record,
        record_several,
        refuse_recording,
    )
    from opwright.autograd.refreshing import rebase_history
    from opwright.autograd.saved import (
        Saved,
        save,
        save_all,
        save_optional,
        save_original,
        save_result,
        save_results,
        unpack,
        unpack_all,
        unpack_optional,
    )
    from opwright.batching.along import Along, Everything
    from opwright.batching.families import Elementwise
    from opwright.batching.hand import ByHand
    from opwright.batching.leading import Folded, Leading
    from opwright.batching.products import Product, Reducing
    from opwright.batching.tables import Family
    from opwright.dispatch.part_methods import install_methods
    from opwright.fake import array_module
    from opwright.fake.kernels import fake_kernel
    from opwright.fake.modes import new_place
    from opwright.fake.results import fake, new_fake, place_of, place_of_first
    from opwright.plans.device_kernels import CudaHostKernel, CudaKernel
    from opwright.plans.device_loops import CudaLoop
    from opwright.plans.device_sources import CudaSource
    from opwright.plans.device_writers import CudaHostWriter, CudaWriter
    from opwright.plans.launches import LaunchRule
    from opwright.plans.native import NativeLibrary

VERSION: Final = 6
_OLDEST: Final = 4  # of the packages that this module serves, too
_TUPLES: Final = 6  # the first whose packages give rows of tuples, not of texts

# The names of what is loaded when it is first asked for, by module.
_LATER: Final = {
    "opwright.batching.along": ("Along", "Everything"),
    "opwright.batching.families": ("Elementwise",),
    "opwright.batching.hand": ("ByHand",),
    "opwright.batching.leading": ("Folded", "Leading"),
    "opwright.batching.products": ("Product", "Reducing"),
    "opwright.batching.tables": ("Family",),
    "opwright.amp.wrappers": ("autocast_wrapper",),
    "opwright.dispatch.part_methods": ("install_methods",),
    "opwright.autograd.forward": ("or_zeros", "sum_terms"),
    "opwright.autograd.quick": (
        "adjoint_of", "conjugate_of", "expanded", "reshaped", "swapped", "turned", "zeros_for",
    ),
    "opwright.autograd.nodes": ("Edge", "Recorded", "RecordedSeveral", "gradients_of", "next_sequence", "split_edges"),
    "opwright.autograd.refreshing": ("rebase_history",),
    "opwright.autograd.recording": (
        "Kernel", "check_inplace", "check_no_gradient", "edges_of", "move_history",
        "not_implemented", "record", "record_several", "refuse_recording",
    ),
    "opwright.autograd.recorders": ("records",),
    "opwright.autograd.saved": (
        "Saved", "save", "save_all", "save_optional", "save_original", "save_result", "save_results", "unpack",
        "unpack_all", "unpack_optional",
    ),
    "opwright.fake.kernels": ("fake_kernel",),
    "opwright.fake.modes": ("new_place",),
    "opwright.fake.results": ("fake", "new_fake", "place_of", "place_of_first"),
    "opwright.plans.device_kernels": ("CudaHostKernel", "CudaKernel"),
    "opwright.plans.device_loops": ("CudaLoop",),
    "opwright.plans.device_sources": ("CudaSource",),
    "opwright.plans.device_writers": ("CudaHostWriter", "CudaWriter"),
    "opwright.plans.launches": ("LaunchRule",),
    "opwright.plans.native": ("NativeLibrary",),
}  # fmt: skip
# Names that packages of former versions import, and no template uses any more.
_FORMER: Final = {
    "opwright.arrays.storage": ("storage_of",),
    "opwright.autograd.recording": ("check_writable", "increment_version"),
    "opwright.autograd.refreshing": ("mark_view", "mark_views"),
    "opwright.fake.results": ("fake_like",),
    "opwright.keys": ("ADINPLACEORVIEW", "WRITE_BITS"),
}
_FORMER_HOMES: Final = {name: module for module, names in _FORMER.items() for name in names}
_HOMES: Final = {name: module for module, names in _LATER.items() for name in names}
_MODULES: Final = {"array_module": "opwright.fake.array_module", "rules": "opwright.rules"}  # whole ones

__all__ = [
    "ARRAYS", "DENSE_CPU", "DENSE_CUDA", "GRAD", "INTS", "NOT_GIVEN", "VERSION", "Along", "ByHand", "CudaHostKernel",
    "CudaHostWriter", "CudaKernel", "CudaLoop", "CudaSource", "CudaWriter", "DType", "Declarations", "Device", "Edge",
    "Elementwise", "Everything", "Family", "Folded", "ForwardRule", "Generator", "Kernel", "KnownForms", "KnownViews",
    "LaunchRule", "Layout", "Leading", "MemoryFormat", "NativeLibrary", "Operator", "Overloaded", "Packet", "Plan",
    "Product", "Recorded", "RecordedSeveral", "Reducing", "Saved", "Scalar", "SymBool", "SymFloat", "SymInt",
    "TangentFormula", "Tensor", "active_modes", "adjoint_of", "alike", "array_module", "as_tuple", "autocast_wrapper",
    "cast_operands", "check_inplace", "check_no_gradient", "conjugate_of", "copy_written", "dtypes", "edges_of",
    "expanded", "fake", "fake_kernel", "find0", "find1", "find2", "find3", "find_items", "find_list", "find_some",
    "function_of", "functions_of", "gradients_of", "install", "install_methods", "is_array", "is_dtype", "is_int_list",
    "known_result", "move_history", "name_kernel", "new_fake", "new_place", "new_result", "new_results",
    "next_sequence", "not_implemented", "number_of", "or_zeros", "place_of", "place_of_first", "plain_dtypes",
    "plan_of", "plans_of", "rebase_history", "record", "record_several", "records", "refuse_recording", "reshaped",
    "result_class", "results_of", "rules", "save", "save_all", "save_optional", "save_original", "save_result",
    "save_results", "split_edges", "stub_of", "sum_terms", "swapped", "turned", "ufunc_shim", "ufunc_shims", "unpack",
    "unpack_all", "unpack_optional", "where_declared", "wrap", "wrap_list", "wrap_result", "wrap_view", "wrap_views",
    "write_out", "write_outs", "write_self", "zeros_for",
]  # fmt: skip


def name_kernel(error: Exception, name: str, key: str) -> None:
    """Note on an error which operator's expression raised it, for which key, and where that is declared."""
    from opwright.dispatch import kernel_sources  # late: for errors alone

    kernel_sources.name_kernel(error, name, key)


def install(
    namespace: str,
    version: int,
    package: Any = "",
    operators: Any = (),
    places: Mapping[str, str] = MappingProxyType({}),
    batching: Sequence[str] = (),
) -> None:
    """Define the operators of a generated package, and register what serves them (`parts.install`).

    Raises ImportError where the package was generated for a version of this module that it does not serve.
    """
    if not _OLDEST <= version <= VERSION:
        raise _other_version(f"the generated package of {namespace!r} is for version {version} of opwright.abi")
    if version < _TUPLES and operators:
        operators = importlib.import_module("opwright.dispatch.former_rows").rows_of_texts(operators)
    _install(package, namespace, operators, places, batching)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found: Any = importlib.import_module(_MODULES[name])
    elif module := _HOMES.get(name) or _FORMER_HOMES.get(name):
        found = getattr(importlib.import_module(module), name)
    elif name.startswith("__"):
        raise AttributeError(name)
    else:
        raise _other_version(f"opwright.abi has no {name!r}")
    globals()[name] = found
    return found


def _other_version(what: str) -> ImportError:
    return ImportError(f"{what}, and this is version {VERSION}: run `opwright generate` again with this Opwright")
