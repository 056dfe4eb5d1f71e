"""The targets of frameworks: `torch`, `dask`, `jax` and `tvm_ffi`, each a function from the declared set to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from opwright_codegen.declared.framework_files import module_file
from opwright_codegen.declared.model import DeclaredSet, Files, Template
from opwright_codegen.targets.bindings.frameworks import Framework, LeftOut, Package, given
from opwright_codegen.views.operators import OperatorView

__all__ = ["dask", "jax", "left_out", "torch", "tvm_ffi"]


def torch(declared: DeclaredSet) -> Files:
    """Return the module that gives the operators to PyTorch."""
    return _module(declared, "torch")


def dask(declared: DeclaredSet) -> Files:
    """Return the module that gives the operators to Dask."""
    return _module(declared, "dask")


def jax(declared: DeclaredSet) -> Files:
    """Return the module that gives the operators to JAX, and the C functions that JAX's programs call."""
    from opwright_codegen.targets.native import jax as native

    bindings, namespace = declared.bindings, declared.namespace
    functions = Template(
        native.TEMPLATE, declared.view, lambda: native.context(bindings, namespace, declared.derivatives)
    )
    return {native.file(namespace): functions, **_module(declared, "jax")}


def tvm_ffi(declared: DeclaredSet) -> Files:
    """Return the C functions that are a module of tvm-ffi."""
    from opwright_codegen.targets.native import tvm

    bindings, namespace = declared.bindings, declared.namespace
    return {tvm.file(namespace): Template(tvm.TEMPLATE, declared.view, lambda: tvm.context(bindings, namespace))}


def left_out(declared: DeclaredSet, framework: str) -> Sequence[LeftOut]:
    """Return the operators that a framework cannot take."""
    return _given(declared, framework)[2]


def _framework(name: str) -> Framework:
    """Return what is known of a framework. The modules of other frameworks are not loaded."""
    match name:
        case "torch":
            from opwright_codegen.targets.bindings.torch import FRAMEWORK
        case "dask":
            from opwright_codegen.targets.bindings.dask import FRAMEWORK
        case _:
            from opwright_codegen.targets.bindings.jax import FRAMEWORK
    return FRAMEWORK


@lru_cache(maxsize=4)
def _given(declared: DeclaredSet, framework: str) -> tuple[Package, list[OperatorView], list[LeftOut]]:
    """Return what a framework is told, the operators that it is given, and those that it cannot take."""
    cuts = declared.cuts
    told = Package(declared.view, declared.bindings, cuts.composed, cuts.blocks, cuts.shardings, declared.derivatives)
    return told, *given(told, framework, _framework(framework))


def _module(declared: DeclaredSet, framework: str) -> Mapping[str, Template]:
    def shown() -> Mapping[str, object]:
        told, taken, others = _given(declared, framework)
        return _framework(framework).context(told, taken, others)

    template = Template(_framework(framework).template, declared.view, shown)
    return {module_file(declared.package, framework): template}
