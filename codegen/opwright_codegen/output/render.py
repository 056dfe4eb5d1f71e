"""Views rendered to text: one template for each output file, rendered once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from jinja2 import BaseLoader, Environment, FunctionLoader, StrictUndefined

from opwright_codegen.bindings.bind import Binding, bind
from opwright_codegen.derivatives.model import DerivativeSet
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets import (
    autograd,
    composites,
    custom_op,
    fakes,
    forward,
    inplace_or_view,
    kernels_cpu,
    kernels_cuda,
    methods,
    package,
    register,
    stubs,
    typing,
    where,
)
from opwright_codegen.targets import kernels as kernel_shims
from opwright_codegen.targets.kernels import shim_names
from opwright_codegen.targets.shims import ShimNames
from opwright_codegen.views.layout import fill_comment
from opwright_codegen.views.operators import NamespaceView, namespace_view

__all__ = ["render", "render_operator"]


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
) -> dict[str, str]:
    """Return the files of `package`, name to text, for operators of one namespace.

    `derivatives`, with formulas over the backward functions of `gradients`, say what is recorded; without, nothing is.
    `used`: packages of other operators that formulas may call.
    `strict`: a kernel that no module has is an error, else it is left unbound. `only`: names of files, or their stems;
    empty or None means all. `project`: the folder that generated files give paths of schemas from, which else are names
    alone. Raises SchemaErrors for formulas and kernels that cannot be.
    """
    (namespace,) = operators.namespaces
    view = namespace_view(operators, namespace, package, project, used)
    bindings = bind(view, operators, kernels, rules, strict=strict)
    shims = {backend.key: shim_names(bindings, backend) for backend in _BACKENDS}
    recorded = _Recorded((), (), (), gradients or KernelModules(()))
    if derivatives is not None:
        recordings = autograd.recordings(view, operators, derivatives)
        recorded = recorded._replace(
            recordings=recordings,
            skipped=autograd.without_history(view, operators, derivatives, recordings),
            rules=forward.rules(view, operators, derivatives),
        )
    found = {"py.typed": ""} if _is_wanted("py.typed", only) else {}
    shared = {"header": _header(view), "namespace": namespace}
    for name, template, context in _files(view, bindings, shims, recorded):
        if _is_wanted(name, only):
            values = context()
            if values is not None:
                found[name] = _environment().get_template(template).render({**shared, **values})
    return dict(sorted(found.items()))


def render_operator(schema: FunctionSchema, arrays: Collection[int], *, returns_arrays: bool) -> str:
    """Return the functions of one operator that is defined at run time. `arrays` are the positions of the arguments
    that the user's function takes as arrays, `returns_arrays` whether it returns one."""
    context = custom_op.context(schema, arrays, returns_arrays=returns_arrays)
    return _environment().get_template(custom_op.TEMPLATE).render(context)


_BACKENDS = (kernels_cpu.BACKEND, kernels_cuda.BACKEND, fakes.BACKEND)
_Context = Callable[[], Mapping[str, object] | None]


class _Recorded(NamedTuple):
    """A package's gradients: what it records, what has no history, how tangents go through it, and the modules of
    backward functions."""

    recordings: Sequence[autograd.Recording]
    skipped: Sequence[str]
    rules: Sequence[forward.Rule]
    gradients: KernelModules


def _files(
    view: NamespaceView,
    bindings: Sequence[Binding],
    shims: Mapping[str, Mapping[str, ShimNames]],
    recorded: _Recorded,
) -> Iterator[tuple[str, str, _Context]]:
    """Yield every output file: its name, its template, and what makes the template's context."""
    has_wrappers = bool(recorded.recordings or recorded.skipped or inplace_or_view.wrapped(bindings))
    yield "__init__.py", package.TEMPLATE, lambda: package.context(view, has_wrappers, bool(recorded.rules))
    yield "ops.py", stubs.TEMPLATE, lambda: stubs.context(view)
    yield where.FILE, where.TEMPLATE, lambda: where.context(view)
    yield "ops.pyi", typing.OPS, lambda: typing.ops_context(view)
    yield "methods.py", methods.TEMPLATE, lambda: methods.context(view)
    yield "methods.pyi", typing.METHODS, lambda: typing.methods_context(view)
    for module in (kernels_cpu, kernels_cuda):
        yield module.FILE, kernel_shims.TEMPLATE, partial(_kernels, view, bindings, module.BACKEND, shims)
    yield fakes.FILE, fakes.TEMPLATE, lambda: fakes.context(view, bindings, shims["Meta"])
    yield "composites.py", composites.TEMPLATE, lambda: composites.context(view, bindings)
    yield autograd.FILE, autograd.TEMPLATE, partial(_autograd, view, recorded, shims["CPU"])
    yield forward.FILE, forward.TEMPLATE, lambda: forward.context(view, recorded.rules, recorded.gradients)
    yield inplace_or_view.FILE, inplace_or_view.TEMPLATE, lambda: inplace_or_view.context(view, bindings)
    yield (
        "register.py",
        register.TEMPLATE,
        lambda: register.context(bindings, shims, recorded.recordings, recorded.skipped),
    )


def _autograd(view: NamespaceView, recorded: _Recorded, shims: Mapping[str, ShimNames]) -> Mapping[str, object] | None:
    return autograd.context(view, recorded.recordings, recorded.gradients, shims)


def _kernels(
    view: NamespaceView,
    bindings: Sequence[Binding],
    backend: kernel_shims.Backend,
    shims: Mapping[str, Mapping[str, ShimNames]],
) -> Mapping[str, object]:
    return kernel_shims.context(view, bindings, backend, shims[backend.key])


def _is_wanted(name: str, only: Collection[str] | None) -> bool:
    return not only or name in only or name.partition(".")[0] in only


# Paths stand in the first line of a file, where `coding: …` would choose its encoding; a line break ends a comment.
_UNSAFE = re.compile(r"[^\w ./+,()@~-]+")


def _header(view: NamespaceView) -> str:
    sources = _UNSAFE.sub(lambda found: quote(found[0], errors="surrogatepass"), ", ".join(view.sources.values()))
    if len(view.sources) == 1:
        return f"# Generated by Opwright from {sources}. Do not edit: change the schema and run `opwright generate`."
    notice = "Generated by Opwright. Do not edit: change the schemas and run `opwright generate`."
    return fill_comment(f"{notice} The schemas are {sources}.")


@cache
def _environment() -> Environment:
    return Environment(
        loader=_loader(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _loader() -> BaseLoader:
    folder = files("opwright_codegen.templates")
    return FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8"))
