"""Views rendered to text: one template for each output file, rendered once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

from opwright_codegen.bindings.batches import families
from opwright_codegen.bindings.bind import Binding, bind
from opwright_codegen.bindings.costs import costs_of
from opwright_codegen.bindings.dimensions import cuts_of
from opwright_codegen.bindings.references import references as said_references
from opwright_codegen.derivatives.model import DerivativeSet
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.output.frameworks import FRAMEWORKS, module_file
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets import folders, package
from opwright_codegen.targets.bindings.frameworks import Framework, LeftOut, Package, given
from opwright_codegen.targets.cuda import c as cuda_c
from opwright_codegen.targets.cuda import index as cuda_index
from opwright_codegen.targets.cuda import loops as cuda_loops
from opwright_codegen.targets.cuda import shims as cuda_shims
from opwright_codegen.targets.cuda import sources as cuda_sources
from opwright_codegen.targets.gradients import autograd, forward
from opwright_codegen.targets.kernels import autocast, backend, composites, cpu, cuda, fakes, meta_formula, metas
from opwright_codegen.targets.native import c as native_c
from opwright_codegen.targets.native import elsewhere as native_elsewhere
from opwright_codegen.targets.native import header as native_header
from opwright_codegen.targets.native import index as native_index
from opwright_codegen.targets.native import jax as native_jax
from opwright_codegen.targets.native import loops as native_loops
from opwright_codegen.targets.native import shims as native_shims
from opwright_codegen.targets.native import tvm as native_tvm
from opwright_codegen.targets.ops import (
    batching,
    calls,
    costs,
    custom_op,
    docs,
    methods,
    references,
    register,
    stubs,
    typing,
    versions,
    where,
)
from opwright_codegen.targets.ops.schema_module import SchemaModule, schema_modules
from opwright_codegen.views.layout import fill_comment
from opwright_codegen.views.operators import NamespaceView, namespace_view

__all__ = ["names_of", "render", "render_meta", "render_operator"]


def render(
    operators: OperatorSet,
    package: str,
    *,
    kernels: KernelModules,
    rules: KernelModules,
    strict: bool,
    derivatives: DerivativeSet | None = None,
    gradients: KernelModules | None = None,
    used: Sequence[UsedPackage] = (),
    only: Collection[str] | None = None,
    project: Path | None = None,
    frameworks: Sequence[str] = (),
    left_out: list[LeftOut] | None = None,
    targets: set[str] | None = None,
    trusted: bool = False,
    is_dry: bool = False,
) -> dict[str, str]:
    """Return the files of `package`, name to text, for operators of one namespace.

    `derivatives`, with formulas over the backward functions of `gradients`, say what is recorded; without, nothing is.
    `used`: packages of other operators that formulas may call.
    `strict`: a kernel that no module has is an error, else it is left unbound. `only`: names of files, or their stems;
    empty or None means all. `project`: the folder that generated files give paths of schemas from, which else are names
    alone. `frameworks`: who the operators are given to; what they cannot take is added to `left_out`. The names
    that `only` could have said are added to `targets`. `trusted`: results of kernels are as declared, and errors of
    functions say what is wrong. `is_dry`: all that can be wrong is found, but the texts are empty.
    Raises SchemaErrors for formulas and kernels that cannot be.
    """
    (namespace,) = operators.namespaces
    view = namespace_view(operators, namespace, package, project, used, trusted)
    bindings = bind(view, operators, kernels, rules, strict=strict)
    recordings, skipped, rules_found = _recorded(view, operators, derivatives)
    cuts = cuts_of(view, operators, bindings, families(operators, bindings, kernels, rules), kernels)
    modules = schema_modules(view, bindings, recordings, rules_found, cuts.rows)
    call_types = cache(partial(calls.CallTypes, view))
    known = set() if targets is None else targets
    modules_for = [framework for framework in frameworks if framework in FRAMEWORKS]
    known |= {"py.typed", *(module_file(package, framework).removeprefix("../") for framework in modules_for)}
    found = {"py.typed": ""} if _is_wanted("py.typed", only) else {}
    for name, template, shown, context in (
        *_of_package(view, modules, skipped, call_types, said_references(operators, namespace, kernels, used)),
        *_of_costs(view, costs_of(operators, bindings, cuts.blocks)),
        *_of_modules(modules, gradients or KernelModules(()), call_types),
        *_of_c(view, bindings, namespace),
        *_of_cuda(view, bindings, namespace),
        *_of_frameworks(view, bindings, namespace, frameworks, derivatives),
    ):
        known.add(name)
        if _is_wanted(name, only) and (values := context()) is not None:
            header = _header(shown) if not name.endswith((".c", ".h", ".cu")) else _in_c(_header(shown))
            shared = {"header": header, "namespace": namespace}
            found[name] = "" if is_dry else _text(template, {**shared, **values})
    found = found if is_dry else _with_folders(found, _header(view), namespace)
    told = Package(view, bindings, cuts.composed, cuts.blocks, cuts.shardings, derivatives)
    for framework in modules_for:
        if _is_wanted((name := module_file(package, framework)).removeprefix("../"), only):
            found[name] = _module_of(framework, told, [] if left_out is None else left_out, is_dry)
    return dict(sorted(found.items()))


def _text(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its values. Jinja is loaded for that: `opwright check` goes without."""
    from opwright_codegen.output.templates import environment

    return environment().get_template(template).render(values)


def _recorded(
    view: NamespaceView, operators: OperatorSet, derivatives: DerivativeSet | None
) -> tuple[Sequence[autograd.Recording], Sequence[str], Sequence[forward.Rule]]:
    """Return what is recorded of operators, the names of those without a history, and the rules of tangents."""
    if derivatives is None:
        return (), (), ()
    recordings = autograd.recordings(view, operators, derivatives)
    skipped = autograd.without_history(view, operators, derivatives, recordings)
    return recordings, skipped, forward.rules(view, operators, derivatives)


def _target(framework: str) -> Framework:
    """Return the target of a framework, by its name in `bindings` of [tool.opwright]. Others are not loaded."""
    match framework:
        case "torch":
            from opwright_codegen.targets.bindings.torch import FRAMEWORK
        case "dask":
            from opwright_codegen.targets.bindings.dask import FRAMEWORK
        case _:
            from opwright_codegen.targets.bindings.jax import FRAMEWORK
    return FRAMEWORK


def _module_of(framework: str, told: Package, left_out: list[LeftOut], is_dry: bool) -> str:
    """Return the module that gives the operators of a package to a framework; add what it cannot take."""
    target = _target(framework)
    taken, others = given(told, framework, target)
    left_out += others
    shown = target.context(told, taken, others)
    shared = {"header": _header(told.view), "namespace": told.view.namespace}
    return "" if is_dry else _text(target.template, {**shared, **shown})


def render_operator(schema: FunctionSchema, arrays: Collection[int], *, returns_arrays: bool) -> str:
    """Return the functions of one operator that is defined at run time. `arrays` are the positions of the arguments
    that the user's function takes as arrays, `returns_arrays` whether it returns one."""
    context = custom_op.context(schema, arrays, returns_arrays=returns_arrays)
    return _text(custom_op.TEMPLATE, context)


def render_meta(bound: meta_formula.BoundMeta) -> str:
    """Return the function of a formula that is given at run time."""
    return _text(meta_formula.TEMPLATE, meta_formula.context(bound))


_Context = Callable[[], Mapping[str, object] | None]
_File = tuple[str, str, NamespaceView, _Context]  # its name, its template, what it is of, what the template shows


def _of_package(
    view: NamespaceView,
    modules: Sequence[SchemaModule],
    skipped: Sequence[str],
    call_types: Callable[[], calls.CallTypes],
    said: Mapping[str, str],
) -> Iterator[_File]:
    """Yield the files that a package has once."""
    yield "__init__.py", package.TEMPLATE, view, lambda: package.context(view)
    yield f"{stubs.FOLDER}/__init__.py", stubs.INDEX, view, lambda: stubs.index_context(view)
    yield f"{stubs.FOLDER}/__init__.pyi", typing.INDEX, view, lambda: typing.index_context(view)
    yield calls.FILE, calls.TEMPLATE, view, lambda: call_types().context()
    yield where.FILE, where.TEMPLATE, view, lambda: where.context(view)
    yield docs.FILE, docs.TEMPLATE, view, lambda: docs.context(view)
    yield versions.FILE, versions.TEMPLATE, view, lambda: versions.context(view)
    yield "methods.py", methods.TEMPLATE, view, lambda: methods.context(view)
    yield "methods.pyi", typing.METHODS, view, lambda: typing.methods_context(view)
    yield "register.py", register.TEMPLATE, view, lambda: register.context(modules, skipped)
    yield references.FILE, references.TEMPLATE, view, lambda: references.context(said)


def _of_costs(view: NamespaceView, said: Mapping[str, str]) -> Iterator[_File]:
    yield costs.FILE, costs.TEMPLATE, view, lambda: costs.context(said)


def _of_modules(
    modules: Sequence[SchemaModule], gradients: KernelModules, call_types: Callable[[], calls.CallTypes]
) -> Iterator[_File]:
    """Yield the files of each schema module."""
    for module in modules:
        view, bindings = module.view, module.bindings
        contexts: tuple[tuple[str, str, _Context], ...] = (
            (f"{stubs.FOLDER}/*.py", stubs.TEMPLATE, partial(stubs.context, view)),
            (f"{stubs.FOLDER}/*.pyi", typing.OPS, partial(typing.ops_context, view, call_types)),
            (
                f"{fakes.FOLDER}/*.py",
                fakes.TEMPLATE,
                partial(fakes.context, view, bindings, module.shims["Meta"], module.name),
            ),
            (f"{metas.FOLDER}/*.py", metas.TEMPLATE, partial(metas.context, bindings, module.metas)),
            (f"{batching.FOLDER}/*.py", batching.TEMPLATE, partial(batching.context, module)),
            (f"{composites.FOLDER}/*.py", composites.TEMPLATE, partial(composites.context, view, bindings)),
            (
                f"{autograd.FOLDER}/*.py",
                autograd.TEMPLATE,
                partial(autograd.context, view, module.recordings, gradients),
            ),
            (f"{autocast.FOLDER}/*.py", autocast.TEMPLATE, partial(autocast.context, view)),
            (f"{forward.FOLDER}/*.py", forward.TEMPLATE, partial(forward.context, view, module.rules, gradients)),
            *[
                (
                    f"{target.FOLDER}/*.py",
                    backend.TEMPLATE,
                    partial(
                        backend.context, view, bindings, target.BACKEND, module.shims[target.BACKEND.key], module.name
                    ),
                )
                for target in (cpu, cuda)
            ],
        )
        yield from ((name.replace("*", module.name), template, view, context) for name, template, context in contexts)


def _of_c(view: NamespaceView, bindings: Sequence[Binding], namespace: str) -> Iterator[_File]:
    """Yield the files of a package that has C kernels or expressions."""
    kernels, loops = native_c.c_kernels(bindings), native_loops.loop_kernels(bindings)
    others = native_elsewhere.elsewhere_lines(bindings)
    on_device = [*cuda_c.cuda_functions(bindings), *cuda_loops.cuda_loops(bindings)]
    header, shims = native_header.file(namespace), native_shims.file(namespace)
    yield header, native_header.TEMPLATE, view, lambda: native_header.context(kernels, namespace)
    yield shims, native_shims.TEMPLATE, view, lambda: native_shims.context(kernels, loops, namespace)
    yield (
        native_index.FILE,
        native_index.TEMPLATE,
        view,
        lambda: native_index.context(kernels, loops, others, namespace),
    )
    yield (
        native_index.IGNORED,
        native_index.IGNORED_TEMPLATE,
        view,
        lambda: native_index.ignored_context([*kernels, *loops, *on_device]),
    )
    own: dict[str, object] | None = {} if kernels or loops else None
    yield native_shims.RUNTIME, native_shims.RUNTIME_TEMPLATE, view, lambda: own
    for name, template, shown in native_loops.files(loops, namespace):
        yield name, template, view, partial(_same, shown)


def _of_frameworks(
    view: NamespaceView,
    bindings: Sequence[Binding],
    namespace: str,
    frameworks: Sequence[str],
    derivatives: DerivativeSet | None,
) -> Iterator[_File]:
    """Yield the files with C functions that JAX calls, and those that are a module of tvm-ffi."""
    if "jax" in frameworks:
        shown = partial(native_jax.context, bindings, namespace, derivatives)
        yield native_jax.file(namespace), native_jax.TEMPLATE, view, shown
    if "tvm_ffi" in frameworks:
        yield native_tvm.file(namespace), native_tvm.TEMPLATE, view, partial(native_tvm.context, bindings, namespace)


def _same(shown: dict[str, object] | None) -> dict[str, object] | None:
    return shown


def _of_cuda(view: NamespaceView, bindings: Sequence[Binding], namespace: str) -> Iterator[_File]:
    """Yield the files of a package that has CUDA kernels or expressions."""
    kernels, loops = cuda_c.cuda_functions(bindings), cuda_loops.cuda_loops(bindings)
    others = native_elsewhere.triton_lines(bindings)
    yield (
        cuda_sources.header_file(namespace),
        cuda_sources.HEADER_TEMPLATE,
        view,
        lambda: cuda_sources.header_context(kernels, namespace),
    )
    for name, each in cuda_sources.files(kernels).items():
        yield name, cuda_sources.TEMPLATE, view, partial(cuda_sources.context, each, kernels, namespace)
    for name, template, shown in cuda_loops.files(loops):
        yield name, template, view, partial(_same, shown)
    yield cuda_index.FILE, cuda_index.TEMPLATE, view, lambda: cuda_index.context(kernels, loops, others, namespace)
    yield cuda_shims.file(namespace), cuda_shims.TEMPLATE, view, lambda: cuda_shims.context(kernels, namespace)
    sources = partial(cuda_shims.sources_context, kernels)
    yield cuda_shims.sources_file(namespace), cuda_shims.SOURCES_TEMPLATE, view, sources


def _with_folders(found: Mapping[str, str], header: str, namespace: str) -> dict[str, str]:
    """Return the files, and the `__init__.py` of folders that have none."""
    shared = {"header": header, "namespace": namespace}
    made = {
        f"{folder}/__init__.py": _text(folders.TEMPLATE, {**shared, **folders.context(folder)})
        for folder in sorted({name.partition("/")[0] for name in found if "/" in name} - _indexed(found))
    }
    return {**found, **made}


def _is_wanted(name: str, only: Collection[str] | None) -> bool:
    """Whether a file is asked for: by one of its names, or where all are."""
    return not only or not names_of(name).isdisjoint(only)


def names_of(file: str) -> set[str]:
    """Return what `only` may say for a file: its path, with or without the ending, or its folder."""
    return {file, file.partition(".")[0], file.partition("/")[0]}


def _indexed(found: Mapping[str, str]) -> set[str]:
    """Return the folders whose `__init__.py` is a target of its own."""
    return {stubs.FOLDER} | ({native_c.FOLDER} if native_index.FILE in found else set())


# Paths stand in the first line of a file, where `coding: …` would choose its encoding; a line break ends a comment.
_UNSAFE = re.compile(r"[^\w ./+,()@~-]+")


def _header(view: NamespaceView) -> str:
    """Return the first line of a file: its sources. Of many in one folder it has the number, `where.py` the names."""
    sources = _UNSAFE.sub(lambda found: quote(found[0], errors="surrogatepass"), ", ".join(view.sources.values()))
    if (count := len(view.sources)) == 1:
        return f"# Generated by Opwright from {sources}. Do not edit: change the schema and run `opwright generate`."
    folder, *others = {source.rpartition("/")[0] for source in sources.split(", ")}
    places = f" from {count} files of {folder}/" if count > 4 and folder and not others else ""
    notice = f"Generated by Opwright{places}. Do not edit: change the schemas and run `opwright generate`."
    return fill_comment(notice if places else f"{notice} The schemas are {sources}.")


def _in_c(header: str) -> str:
    """Return a comment of Python as one of C: no sign of it ends that."""
    return "/* " + "\n * ".join(line.removeprefix("# ") for line in header.splitlines()) + " */"
