"""Targets `kernels_cpu/` and `kernels_cuda/`: rows of kernels, and functions from Tensors to arrays and back.

Note [Kernel shims]
Most kernels are rows (`rows`). A function `NAME` stands for a kernel that a row does not say: of views, of what no rule
or a user's own plans, of C, CUDA and loops. The last three have companions, which call C with the arrays as they are:
`NAME_dense` of dense tensors (no key NONDENSE), `NAME_arrays` of plain arrays. Both leave the rest to `NAME`, which
also words the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from opwright_codegen.declared.parts import Binding, DeviceKernel, Jitted, Looped, Native, backend_bindings
from opwright_codegen.records import dataclass
from opwright_codegen.targets.kernels.dense import DenseFacts, dense_facts
from opwright_codegen.targets.kernels.fast_shims import FastShim
from opwright_codegen.targets.kernels.letters import view_kinds
from opwright_codegen.targets.kernels.loop_calls import LoopFastBuilder, LoopShimBuilder
from opwright_codegen.targets.kernels.loop_facts import LoopFacts, loop_facts
from opwright_codegen.targets.kernels.metas import ALIAS, MetaNames
from opwright_codegen.targets.kernels.metas import FOLDER as METAS
from opwright_codegen.targets.kernels.names import RESERVED, ShimNames
from opwright_codegen.targets.kernels.native_calls import DEVICE_MODULE, MODULE, NativeFastBuilder, NativeShimBuilder
from opwright_codegen.targets.kernels.rows import KernelRow, RowBuilder, written_bases
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.kernels.ufunc_rows import ufunc_values
from opwright_codegen.targets.native.facts import NativeFacts, native_facts
from opwright_codegen.targets.native.loops import loop_dtypes
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import fill_comment, quoted
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import NamespaceView

__all__ = ["TEMPLATE", "Backend", "Shim", "context", "shim_names"]

TEMPLATE = "kernels.py.j2"


@dataclass(frozen=True, slots=True)
class Backend:
    """The differences between the modules. Without a `library`, `xp` is a module of the runtime. `native`: what is
    imported for kernels in C or CUDA."""

    key: str
    xp: str
    library: str
    has_plain_arrays: bool
    native: tuple[str, str, str] = ("..", MODULE, MODULE)


@dataclass(frozen=True, slots=True)
class Shim:
    """The kernel of an operator: a row below the function of an expression, if it has one; or a general shim with its
    statements, what is known of views ('' where nothing is), and fast companions. `gap` are the empty lines above
    it."""

    gap: str
    comment: str
    row: KernelRow | None = None
    cache: str = ""
    signature: str = ""
    statements: tuple[str, ...] = ()
    fast: tuple[FastShim, ...] = ()

    def texts(self) -> list[str]:
        """Return all text, for finding the names used."""
        found = [self.cache, self.signature, *self.statements]
        if self.row is not None:
            found += [self.row.row.replace("np.ndarray", "np"), self.row.function]
        for fast in self.fast:
            found += [
                fast.signature,
                *fast.arrays,
                fast.elsewhere,
                fast.general,
                fast.compute,
                *fast.result,
            ]
        return found


def context(
    view: NamespaceView,
    bindings: Sequence[Binding],
    backend: Backend,
    names: Mapping[str, ShimNames],
    schema_module: str,
    builder: type[ShimBuilder] = ShimBuilder,
) -> dict[str, object] | None:
    """Return what the template shows; None where the backend handles no operator."""
    own = backend_bindings(bindings, backend.key)
    if not own:
        return None
    modules = _module_names(own, names)
    builtins = BuiltinNames(_functions(names))
    rows, written = RowBuilder(backend.key, backend.xp), written_bases(own)
    shims: list[Shim] = []
    for binding in own:
        found = names[binding.view.name]
        kind = _builder(binding) if builder is ShimBuilder else builder  # (a fake calls no kernel)
        general = kind(binding, builtins, found, backend.xp, modules)
        comment = fill_comment(binding.view.declaration)
        row = rows.row(general, written[binding.base.name])
        if row is not None:
            shims.append(Shim(_gap(shims, row), comment, row))
            continue
        fast = _fast_shims(general, found.facts, backend.key)
        kinds = view_kinds(binding, backend.key) if found.cache else ""
        listed = ", is_list=True" if kinds and binding.view.schema.returns[0].type.is_list_like else ""
        cache = f"{found.cache} = ViewCache({quoted(kinds)}{listed})" if kinds else ""
        shims.append(
            Shim(
                "\n" if cache and not shims else "\n\n",
                comment,
                None,
                cache,
                general.head(found.general),
                tuple(general.statements()),
                fast,
            )
        )
    words = words_in(text for shim in shims for text in shim.texts())
    if not any(isinstance(binding.kernel, Native | DeviceKernel | Looped | Jitted) for binding in own):
        words -= {MODULE, DEVICE_MODULE}
    return {"backend": backend, "shims": shims, "imports": _imports(words, backend, modules, schema_module)}


def _gap(above: Sequence[Shim], row: KernelRow) -> str:
    """Return the empty lines above a row: two around functions, none above a variant of what is above it."""
    is_alone = bool(above) and above[-1].row is not None and not row.function
    return ("" if row.is_variant else "\n") if is_alone else "\n" if not above and not row.function else "\n\n"


def _builder(binding: Binding) -> type[ShimBuilder]:
    match binding.kernel:
        case Native() | DeviceKernel():
            return NativeShimBuilder
        case Looped() if _has_loops(binding):
            return LoopShimBuilder
        case _:
            return ShimBuilder


def _has_loops(binding: Binding) -> bool:
    """Whether an expression has loops; on CUDA only where there is one to compile."""
    kernel, key = binding.kernel, binding.key
    if not isinstance(kernel, Looped):
        return False
    return key == "CPU" or (key == "CUDA" and bool(loop_dtypes(kernel.expression, key)))


def _fast_shims(
    general: ShimBuilder, facts: DenseFacts | NativeFacts | LoopFacts | None, key: str
) -> tuple[FastShim, ...]:
    match facts:
        case NativeFacts():
            return NativeFastBuilder(general, facts, key).shims()
        case LoopFacts():
            return LoopFastBuilder(general, facts, key).shims()
        case _:
            return ()


def shim_names(
    bindings: Sequence[Binding], backend: Backend, metas: Mapping[str, MetaNames], *, is_trusted: bool
) -> dict[str, ShimNames]:
    """Return the functions that the module has, by operator."""
    own = backend_bindings(bindings, backend.key)
    namer = Namer(RESERVED)
    general = {binding.view.name: namer.claim(binding.view.stub) for binding in own}
    found = {}
    for binding in own:
        stub = general[binding.view.name]
        facts = None if backend.key == "Meta" else _facts(binding, backend)
        is_fast = facts is not None and (
            not isinstance(facts, DenseFacts) or ufunc_values(binding, facts, backend.xp) is not None
        )
        has_arrays = is_fast and facts is not None and facts.takes_plain_arrays and backend.has_plain_arrays
        found[binding.view.name] = ShimNames(
            stub,
            namer.claim(f"{stub}_dense") if is_fast else "",
            namer.claim(f"{stub}_arrays") if has_arrays else "",
            facts,
            namer.claim(f"{stub}_cache") if is_trusted and view_kinds(binding, backend.key) else "",
            metas.get(binding.view.name),
            is_trusted,
        )
    return found


def _facts(binding: Binding, backend: Backend) -> DenseFacts | NativeFacts | LoopFacts | None:
    if _has_loops(binding):
        return loop_facts(binding)
    return native_facts(binding) or dense_facts(binding)


def _module_names(bindings: Sequence[Binding], names: Mapping[str, ShimNames]) -> dict[str, str]:
    """Return what the module calls each module of kernels or rules that it imports."""
    namer = Namer((*RESERVED, *_functions(names)))
    found: dict[str, str] = {}
    for binding in bindings:
        for module, kind in binding.modules():
            if module not in found:
                last = module.rpartition(".")[2]
                found[module] = namer.claim(last if last.endswith(kind) else f"{last}_{kind}")
    return found


def _functions(names: Mapping[str, ShimNames]) -> set[str]:
    return {name for found in names.values() for name in (found.general, found.dense, found.arrays, found.cache)}


def _imports(words: Collection[str], backend: Backend, modules: dict[str, str], schema_module: str) -> str:
    whole = [f"{backend.library} as {backend.xp}"] if backend.library and backend.xp in words else []
    whole += [name for name in ("builtins", "math") if name in words]
    extra = [(module.rpartition(".")[0], module.rpartition(".")[2], alias) for module, alias in modules.items()]
    extra += [(f"..{METAS}", schema_module, ALIAS)] if ALIAS in words else []
    extra += [("opwright_bindings.called", "call_torch", "call_torch")] if "call_torch" in words else []
    extra += [backend.native] if MODULE in words else []
    extra += [(f"..{MODULE}", "cuda", DEVICE_MODULE)] if DEVICE_MODULE in words else []
    return import_lines(words, whole, extra)
