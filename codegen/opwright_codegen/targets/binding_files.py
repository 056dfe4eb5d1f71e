"""The files of bindings: the module beside the package, and what else the folder of a binding makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module

from opwright_codegen.declared.binding_folders import BindingFolder, module_file, own_bindings
from opwright_codegen.declared.model import DeclaredSet, Files, Target, Template
from opwright_codegen.errors import SchemaError
from opwright_codegen.targets.bindings.framework import Framework, LeftOut, Package, given
from opwright_codegen.targets.foreign import check_name, failures
from opwright_codegen.views.operators import OperatorView

__all__ = ["binding_target", "left_out"]


def binding_target(folder: BindingFolder) -> Target:
    """Return the target that a folder is. With a folder of another distribution it raises SchemaError alone."""
    maker = _maker(folder)

    def files(declared: DeclaredSet) -> Files:
        with failures(maker):
            framework = _framework(folder)
            found = dict(framework.files(declared)) if framework.files is not None else {}
            for name in found if maker else ():
                check_name(name, maker)
            if framework.refusal is None:
                return found
            template = Template(
                f"{folder.package}:{framework.template}", declared.view, lambda: _context(declared, folder), maker
            )
            return {**found, module_file(declared.package, folder.name): template}

    return files


def left_out(declared: DeclaredSet, folder: BindingFolder) -> Sequence[LeftOut]:
    """Return the operators that a framework is not given."""
    with failures(_maker(folder)):
        return _given(declared, folder)[2] if _framework(folder).refusal is not None else ()


def _maker(folder: BindingFolder) -> str:
    """Return the words for a binding of another distribution, nothing for ours."""
    is_own = folder == own_bindings().get(folder.name)
    return "" if is_own else f"the binding {folder.name!r} of {folder.distribution}"


def _framework(folder: BindingFolder) -> Framework:
    """Return the generator's half of a binding. The other bindings are not loaded."""
    found: object = getattr(import_module(f"{folder.package}.target"), "FRAMEWORK", None)
    if not isinstance(found, Framework):
        message = f"{folder.package}.target has no FRAMEWORK, an instance of Framework"
        raise SchemaError("target-answer", message, hint="docs/architecture.md, Add a binding, shows one")
    return found


@lru_cache(maxsize=4)
def _given(declared: DeclaredSet, folder: BindingFolder) -> tuple[Package, list[OperatorView], list[LeftOut]]:
    """Return the package as the binding sees it, the operators that it is given, and those that it is not given."""
    cuts = declared.cuts
    package = Package(
        declared.view, declared.bindings, cuts.composed, cuts.blocks, cuts.shardings, declared.derivatives
    )
    return package, *given(package, folder.name, _framework(folder))


def _context(declared: DeclaredSet, folder: BindingFolder) -> Mapping[str, object]:
    return _framework(folder).context(*_given(declared, folder))
