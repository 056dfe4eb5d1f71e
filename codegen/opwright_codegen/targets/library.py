"""The targets of every package: functions from the declared set to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from opwright_codegen.declared.model import DeclaredSet, Files, Template
from opwright_codegen.targets import package
from opwright_codegen.targets.gradients import autograd, forward
from opwright_codegen.targets.kernels import autocast, backend, composites, cpu, cuda, fakes, metas
from opwright_codegen.targets.ops import (
    batching,
    calls,
    costs,
    docs,
    functions,
    methods,
    references,
    register,
    stubs,
    typing,
    versions,
    where,
)
from opwright_codegen.targets.ops.schema_module import SchemaModule
from opwright_codegen.targets.shared import shared

__all__ = ["gradients", "kernels", "ops", "package_files"]


def package_files(declared: DeclaredSet) -> Files:
    """Return the files of the package itself."""
    view, common = declared.view, shared(declared)
    return {
        "py.typed": "",
        "__init__.py": Template(package.TEMPLATE, view, lambda: package.context(view)),
        where.FILE: Template(where.TEMPLATE, view, lambda: where.context(view)),
        docs.FILE: Template(docs.TEMPLATE, view, lambda: docs.context(view)),
        versions.FILE: Template(versions.TEMPLATE, view, lambda: versions.context(view)),
        "register.py": Template(register.TEMPLATE, view, lambda: register.context(common.modules, common.skipped)),
        references.FILE: Template(references.TEMPLATE, view, lambda: references.context(declared.references)),
        costs.FILE: Template(costs.TEMPLATE, view, lambda: costs.context(declared.costs)),
    }


def ops(declared: DeclaredSet) -> Files:
    """Return the functions and methods that users call, their types, and the dimension rules of operators."""
    view, common = declared.view, shared(declared)

    def call_types() -> calls.CallTypes:
        return common.call_types

    def of_module(module: SchemaModule) -> Iterator[tuple[str, Template]]:
        own = module.view
        yield f"{stubs.FOLDER}/*.py", Template(stubs.TEMPLATE, own, partial(stubs.context, own))
        yield f"{stubs.FOLDER}/*.pyi", Template(typing.OPS, own, partial(typing.ops_context, own, call_types))
        yield f"{batching.FOLDER}/*.py", Template(batching.TEMPLATE, own, partial(batching.context, module))

    return {
        f"{stubs.FOLDER}/__init__.py": Template(stubs.INDEX, view, lambda: stubs.index_context(view)),
        f"{stubs.FOLDER}/__init__.pyi": Template(typing.INDEX, view, lambda: typing.index_context(view)),
        calls.FILE: Template(calls.TEMPLATE, view, lambda: call_types().context()),
        "methods.py": Template(methods.TEMPLATE, view, lambda: methods.context(view)),
        "methods.pyi": Template(typing.METHODS, view, lambda: typing.methods_context(view)),
        **{
            f"{functions.FOLDER}/{module}.py": Template(
                functions.TEMPLATE, functions.view_of(view, found), partial(functions.context, module, view, found)
            )
            for module, found in functions.modules_of(view).items()
        },
        **_of_modules(declared, of_module),
    }


def kernels(declared: DeclaredSet) -> Files:
    """Return the kernels of backends, metadata functions, fakes, composites and the casts of autocast."""

    def of_module(module: SchemaModule) -> Iterator[tuple[str, Template]]:
        view, bindings, name = module.view, module.bindings, module.name
        shown = partial(fakes.context, view, bindings, module.shims["Meta"], name)
        yield f"{fakes.FOLDER}/*.py", Template(fakes.TEMPLATE, view, shown)
        yield f"{metas.FOLDER}/*.py", Template(metas.TEMPLATE, view, partial(metas.context, bindings, module.metas))
        yield (
            f"{composites.FOLDER}/*.py",
            Template(composites.TEMPLATE, view, partial(composites.context, view, bindings)),
        )
        yield f"{autocast.FOLDER}/*.py", Template(autocast.TEMPLATE, view, partial(autocast.context, view))
        for target in (cpu, cuda):
            shims = module.shims[target.BACKEND.key]
            shown = partial(backend.context, view, bindings, target.BACKEND, shims, name)
            yield f"{target.FOLDER}/*.py", Template(backend.TEMPLATE, view, shown)

    return _of_modules(declared, of_module)


def gradients(declared: DeclaredSet) -> Files:
    """Return the autograd wrappers of operators, and the rules of their tangents."""
    functions = declared.gradients

    def of_module(module: SchemaModule) -> Iterator[tuple[str, Template]]:
        view = module.view
        recorded = partial(autograd.context, view, module.recordings, functions)
        yield f"{autograd.FOLDER}/*.py", Template(autograd.TEMPLATE, view, recorded)
        rules = partial(forward.context, view, module.rules, functions)
        yield f"{forward.FOLDER}/*.py", Template(forward.TEMPLATE, view, rules)

    return _of_modules(declared, of_module)


def _of_modules(
    declared: DeclaredSet, of_module: Callable[[SchemaModule], Iterator[tuple[str, Template]]]
) -> Mapping[str, Template]:
    """Return the files of each schema module: `*` in a name stands for the module's."""
    return {
        name.replace("*", module.name): template
        for module in shared(declared).modules
        for name, template in of_module(module)
    }
