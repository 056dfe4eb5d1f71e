"""All that generated code may import of the runtime, beside kernels, under one version.

What a name is may change with `VERSION` alone. Packages of other versions are served, or refused with a line that says
what to install, and names that no template uses any more are found, by `opwright_core.versions`.
Names of the library (`opwright.abi_names`) are loaded when they are first asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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
from opwright_core.dispatch.package.kernel_rows import inplace_variant, kernel, out_variant
from opwright_core.dispatch.package.schema_modules import functions_of
from opwright_core.dispatch.package.schema_modules import install as _install
from opwright_core.dispatch.registry.forward_rules import ForwardRule, TangentFormula
from opwright_core.keys import ARRAYS, DENSE_CPU, DENSE_CUDA
from opwright_core.late_bound import has_library, late_bound
from opwright_core.names.late_imports import import_late
from opwright_core.plans.alike import alike
from opwright_core.plans.plan_cache import ViewCache
from opwright_core.source_locations import PlacesOf, where_declared
from opwright_core.state import active_modes
from opwright_core.tensors.methods import methods_of
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

VERSION: Final = 1

__all__ = [
    "ARRAYS", "DENSE_CPU", "DENSE_CUDA", "INTS", "NOT_GIVEN", "VERSION", "DType", "Declarations", "Device",
    "ForwardRule", "Generator", "Layout", "MemoryFormat", "NativeLibrary", "Operator", "Overloaded", "Packet",
    "Scalar", "TangentFormula", "Tensor", "ViewCache", "active_modes", "alike", "as_tuple", "cuda_kernel", "dtypes",
    "find0", "find1", "find2", "find3", "find_items", "find_list", "find_some", "function_of", "functions_of",
    "inplace_variant", "install", "is_array", "is_dtype", "is_int_list", "kernel", "methods_of", "name_kernel",
    "native_kernel", "new_result", "new_results", "number_of", "out_variant", "plan_of", "plans_of",
    "reduction_number", "result_class", "results_of", "rules", "stub_of", "where_declared", "wrap", "wrap_list",
    "wrap_result", "wrap_view", "wrap_views",
]  # fmt: skip
if TYPE_CHECKING:
    from opwright import abi_names
    from opwright.abi_names import *  # noqa: F403
    from opwright_core import rules
    from opwright_core.dispatch.call.reductions import reduction_number
    from opwright_core.native_kernels.libraries import NativeLibrary
    from opwright_core.random_state.generator import Generator
    from opwright_core.user_kernels.native_rows import cuda_kernel, native_kernel
    from opwright_core.user_kernels.returns import as_tuple, number_of

    __all__ += abi_names.__all__


def name_kernel(error: Exception, name: str, key: str) -> None:
    """Note on an error which operator's expression raised it, for which key, and where that is declared."""
    import_late("opwright_core.texts.kernel_sources").name_kernel(error, name, key)


def install(
    namespace: str,
    version: int,
    package: Any = "",
    operators: Any = (),
    places: Mapping[str, str] | None = None,
    batching: Sequence[str] = (),
    *,
    trusted: bool = False,
    **newer: object,
) -> None:
    """Define the operators of a generated package, and register what handles them (`schema_modules.install`). Kernels
    that are `trusted` return what is declared, and raise errors that say what is wrong. Without `places`, the package's
    module `where` has them.

    Raises ImportError where the package was generated for a version of this module that is not served. Newer ones may
    say more of a package (`newer`).
    """
    if version != VERSION:
        served = import_late("opwright_core.versions").served_rows
        operators = served(package or namespace, version, operators, VERSION)
    _install(package, namespace, operators, places or PlacesOf(package), batching, trusted=trusted)


# Names that many packages do not need: each is loaded when it is first asked for.
_LATE: Final = {
    "Generator": "opwright_core.random_state.generator", "NativeLibrary": "opwright_core.native_kernels.libraries",
    "as_tuple": "opwright_core.user_kernels.returns", "cuda_kernel": "opwright_core.user_kernels.native_rows",
    "native_kernel": "opwright_core.user_kernels.native_rows", "number_of": "opwright_core.user_kernels.returns",
    "reduction_number": "opwright_core.dispatch.call.reductions",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found: Any
    if name == "rules":
        found = import_late("opwright_core.rules")
    elif name in _LATE:
        found = getattr(import_late(_LATE[name]), name)
    elif has_library() and late_bound.interface().has(name):
        found = late_bound.interface().load(name)
    else:  # of another version: each package that uses it is told
        user = sys._getframe(1).f_globals.get("__name__", "")
        try:
            return import_late("opwright_core.versions").load(name, user, VERSION)
        except ImportError:
            spec = getattr(sys.modules.get(user), "__spec__", None)
            if getattr(spec, "_initializing", False):
                raise
            # No package is being imported: pickle, for example, asks every module for a name.
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found
    return found
