"""The names that modules had before they stood in packages: `opwright.metadata` is `opwright_core.plans.plan`.

What was pickled, and who imports a module by its former name, gets the same module. Settings and schema files may name
`opwright.kernels`, too.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["current_name", "install"]

# By package: what kept its name, then what got another one.
_KEPT: Final = {
    "arrays": "annotations cuda_arrays devices dlpack dtypes generator layouts overlap promotion size sizes storage",
    "locks": "forks interrupts registry_lock",
    "names": "missing torch_alias",
    "plans": "forms kernel_errors operands",
    "tensors": "checks construction factories results tensor",
    "dispatch": "adapters compose conversion entries forward_rules function_schema introspection kernel_handles "
    "keywords lost mixed_devices out_variants overload_facts packets plain_arrays returns signature table_calculator "
    "wrapped_numbers",
    "methods": "casting functional indexing pickling printing subclassing values",
    "library": "custom_ops libraries schema_inference schema_tags",
}
_RENAMED: Final = {
    "arrays.view_layouts": "base.view_layouts",
    "names.former_names": "former.names",
    "former_names": "former.names",
    "_schema": "dispatch.schema",
    "autograd.originals": "utils.originals",
    "differentiable": "autograd.tensor_methods",
    "dispatch_errors": "dispatch.errors",
    "dispatch_table": "dispatch.precedence",
    "dispatcher": "dispatch.operator",
    "doors": "bindings",
    "interop": "methods.exchange",
    "metadata": "plans.plan",
    "ops_namespace": "namespaces",
    "options": "arrays.formats",
    "overloads": "dispatch.registry",
    "registrations": "dispatch.kernel_forms",
    "registry": "dispatch.registering",
}
# By package: what moved on into a room of its own, as `new=old` where it got another name.
_MOVED: Final = {
    ("arrays", "creation"): "dlpack",
    ("arrays", "backends"): "cuda_arrays registered_backends",
    ("arrays", "generators"): "generator twister",
    ("arrays", "symbolic"): "numbers=symbolic_numbers",
    ("dispatch", "backends"): "mixed_devices numpy_fallback provider=serving wrapped_numbers",
    ("dispatch", "inspection"): "errors function_schema kernel_handles kernel_sources meta_formulas other_libraries "
    "out_variants overload_facts row_texts schema table_calculator",
    ("dispatch", "registering"): "lost removing",
    ("dispatch", "user_kernels"): "adapters native_rows=row_native registering=user_kernels returns",
    ("names", "utils"): "torch_alias",
    ("plans", "cuda_kernels"): "calls=device_calls kernels=device_kernels launches loops=device_loops "
    "operands=device_operands sources=device_sources writers=device_writers",
    ("plans", "native_kernels"): "arguments=native_arguments function_kernels libraries=native",
    ("tensors", "creation"): "checks construction factories",
}
_RULES: Final = (
    "activations convolution core_dimensions dropout embedding indexing joining linear_algebra losses "
    "memory_formats normalization padding products random rearranging reductions scattering sorting upsampling windows"
)
_ON: Final = {
    f"{package}.{former or name}": f"{room}.{name}"
    for (package, room), names in _MOVED.items()
    for name, _, former in (each.partition("=") for each in names.split())
} | {
    "dispatch.aten": "namespaces",
    "dispatch.former_rows": "former.rows",
    "dispatch.namespaces": "namespaces",
    "dispatch.part_methods": "base.late_methods",
    "part_methods": "base.late_methods",
    "dispatch.variants": "base.variants",
    "functionalize.variants": "base.functional_variants",
    "names.numpy_names": "base.numpy_names",
    "arrays.simple": "arrays.dense",
    "plans.forms": "plans.specs",
    "plans.known": "former.plans",
}
# What is in `opwright_core` now, and which package of `dispatch` there has which of its modules.
_CORE: Final = (
    "abi", "arrays", "core", "hooks", "keys", "locks", "names", "plans", "plugins",
    "rules", "state", "tensors",
)  # fmt: skip
_DISPATCH: Final = {
    "call": "conversion introspection keywords lookup operator packets plain_arrays signature",
    "compiled": "planned_kernels signature_keys=forms ufunc_kernels ufunc_shims",
    "package": "declarations generated kernel_rows out_calls schema_modules=parts "
    "row_arrays row_calls row_shims row_writes stub_rows stub_shapes",
    "registry": "compose entries fallbacks forward_rules kernel_kinds=kernel_forms precedence registering "
    "tables=registry rule_table",
}
_PARTS: Final = {
    f"dispatch.{former or name}": f"dispatch.{part}.{name}"
    for part, names in _DISPATCH.items()
    for name, _, former in (each.partition("=") for each in names.split())
}


def _in_its_root(name: str) -> str:
    name = _ON.get(name, name)
    return f"opwright{'_core' * (name.partition('.')[0] in (*_CORE, 'dispatch'))}.{_PARTS.get(name, name)}"


# What the core had.
_LATELY: Final = {
    "opwright_core.arrays.simple": "opwright_core.arrays.dense",
    "opwright_core.dispatch.call.aten": "opwright.namespaces",
    "opwright_core.dispatch.call.namespaces": "opwright.namespaces",
    "opwright_core.dispatch.call.overload_facts": "opwright.inspection.overload_facts",
    "opwright_core.dispatch.call.wrapped_numbers": "opwright.backends.wrapped_numbers",
    "opwright_core.dispatch.compiled.forms": "opwright_core.dispatch.compiled.signature_keys",
    "opwright_core.dispatch.package.parts": "opwright_core.dispatch.package.schema_modules",
    "opwright_core.dispatch.package.row_native": "opwright.user_kernels.native_rows",
    "opwright_core.dispatch.package.variants": "opwright.base.variants",
    "opwright_core.dispatch.registry.kernel_forms": "opwright_core.dispatch.registry.kernel_kinds",
    "opwright_core.dispatch.registry.lost": "opwright.registering.lost",
    "opwright_core.dispatch.registry.removing": "opwright.registering.removing",
    "opwright_core.plans.forms": "opwright_core.plans.specs",
}
# What stood beside the packages of the library.
_ROOMS: Final = {
    "base": "late_methods limits numpy_names tags tree_keys variants view_layouts",
    "ground": "places questions",
}
_CURRENT: Final = (
    {
        f"opwright.{former}": _in_its_root(current)
        for former, current in (
            *((name, f"{package}.{name}") for package, names in _KEPT.items() for name in names.split()),
            *_RENAMED.items(),
            *_ON.items(),
            *((name, name) for name in (*_CORE, *_PARTS)),
            *((f"dispatch.{part}", f"dispatch.{part}") for part in _DISPATCH if part != "registry"),
        )
    }
    | _LATELY
    | {f"opwright.{name}": f"opwright.{room}.{name}" for room, names in _ROOMS.items() for name in names.split()}
    | {f"opwright.rules.{name}": f"opwright_kernels.rules.{name}" for name in _RULES.split()}
)
_KERNELS: Final = "opwright.kernels"
# Where functions went that left a module, which kept others.
_LEFT: Final = {
    "opwright_core.arrays.dtypes": "opwright.base.limits opwright.creation.checks",
    "opwright_core.arrays.sizes": "opwright.symbolic.questions opwright.symbolic.numbers",
    "opwright_core.dispatch.call.introspection": "opwright.user_kernels.returns opwright.inspection.docstrings",
    "opwright_core.arrays.layouts": "opwright_kernels.rules.dimensions opwright.base.view_layouts",
    "opwright_core.arrays.promotion": "opwright.base.limits",
    "opwright_core.arrays.storage": "opwright.former.predicates opwright.base.view_layouts "
    "opwright.user_kernels.copies",
    "opwright_core.dispatch.call.conversion": "opwright.former.predicates",
    "opwright_core.dispatch.registry.compose": "opwright.inspection.kernel_handles",
    "opwright_core.dispatch.registry.forward_rules": "opwright.registering.rules",
    "opwright_core.dispatch.registry.registering": "opwright.registering.kernels",
    "opwright_core.dispatch.registry.rule_table": "opwright.registering.rules",
    "opwright_core.keys": "opwright.guards.keysets opwright.inspection.foreign_keys",
    "opwright_core.locks.forks": "opwright.guards.fork_locks",
    "opwright_core.names.missing": "opwright.facade",
    "opwright_core.plans.specs": "opwright.former.plans",
    "opwright_core.plans.operands": "opwright_kernels.rules.matrices",
    "opwright_core.rules.factories": "opwright_kernels.rules.creation",
    "opwright_core.rules.pointwise": "opwright_kernels.rules.elementwise",
    "opwright_core.state": "opwright.guards.blocks opwright.guards.keys",
    "opwright_core.tensors.given_arrays": "opwright.creation.construction",
    "opwright_core.tensors.tensor": "opwright.pytree",
    "opwright_core.tensors.results": "opwright.pytree opwright.base.view_layouts",
}
# What modules of `opwright_core.dispatch` had, and is an attribute of the registry.
_REGISTRY: Final = {
    "registry.kernel_kinds": "fallbacks kernels lock",
    "call.operator": "operators",
    "registry.registering": "generated_namespaces",
    "registry.tables": "overloads shared_overloads",
}


def current_name(name: str) -> str | None:
    """Return what a module is called now, "opwright_core.plans.plan" for "opwright.metadata"; None if the same."""
    if name == _KERNELS or name.startswith(f"{_KERNELS}."):
        return name.replace(_KERNELS, "opwright_kernels", 1).replace(".composites_", ".composites.", 1)
    if name.startswith("opwright_kernels.") and name.count(".") == 1:
        return _in_its_family(name)
    module, rest = name, ""
    while module not in _CURRENT:
        module, dot, last = module.rpartition(".")
        if not dot:
            return None
        rest = f".{last}{rest}"
    return f"{_CURRENT[module]}{rest}"


def _in_its_family(name: str) -> str | None:
    """Return where a module of kernels stands that stood beside all others: in a folder of its family."""
    package, _, last = name.rpartition(".")
    top = Path(sys.modules[package].__path__[0])
    families = {path.parent.name for path in top.glob(f"*/{last}.py")} - {
        "batching",
        "composites",
        "gradients",
        "rules",
    }
    return f"{package}.{families.pop()}.{last}" if families and not (top / last).exists() else None


class _Former(MetaPathFinder, Loader):
    """A finder of modules under their former names: they are the same modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if current_name(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _with_what_left(importlib.import_module(current_name(spec.name) or spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # what it was executed as


def _with_what_left(module: ModuleType) -> ModuleType:
    """Return a module, which finds functions of before where they stand now."""
    homes = _LEFT.get(module.__name__, "").split()
    of_registry = _REGISTRY.get(module.__name__.removeprefix("opwright_core.dispatch."), "").split()

    def find(name: str) -> Any:
        if name in of_registry:
            return getattr(importlib.import_module("opwright_core.dispatch.registry.tables").registry, name)
        for home in homes if not name.startswith("__") else ():
            if name in vars(found := importlib.import_module(home)):
                return vars(found)[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    if homes or of_registry:
        vars(module).setdefault("__getattr__", find)
    return module


def install() -> None:
    """Have Python find modules under their former names. To be called once, when `tensors.tensor` is loaded.

    What is loaded already is entered by name: an import of `opwright.tensor` must not set the attribute `tensor`, which
    is a function.
    """
    sys.meta_path.insert(0, _Former())  # before who would find their files
    for former, current in _CURRENT.items():
        if current in sys.modules:
            sys.modules[former] = _with_what_left(sys.modules[current])
