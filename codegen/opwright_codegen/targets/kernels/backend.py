"""Targets `kernels_cpu.py` and `kernels_cuda.py`: shims from Tensors to a kernel's arrays and back.

Note [Kernel shims]
`NAME` serves every call: a plan says what the result looks like, its operands go to the kernel, the answer is laid out
or stored as the plan says. `NAME_dense` serves pointwise operators where no tensor has ODD: the arrays are row-major,
with at least one element and one dimension, and where their dtypes are one NumPy's own result is what the plan would
say, if the kernel is proven elementwise (`elementwise`). `NAME_arrays` is the same for plain arrays. Both leave the
rest to `NAME`, which also words the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from opwright_codegen.bindings.bind import Binding, CudaKernel, Looped, Native, backend_bindings
from opwright_codegen.targets.kernels.dense import ALL_KINDS, DenseFacts, dense_facts
from opwright_codegen.targets.kernels.fast_shims import FastShim, FastShimBuilder, dtypes_name
from opwright_codegen.targets.kernels.known import known_forms
from opwright_codegen.targets.kernels.known_facts import known_facts, view_kinds
from opwright_codegen.targets.kernels.loop_calls import LoopFastBuilder, LoopShimBuilder
from opwright_codegen.targets.kernels.loop_facts import LoopFacts, loop_facts
from opwright_codegen.targets.kernels.metas import ALIAS, MetaNames
from opwright_codegen.targets.kernels.metas import FOLDER as METAS
from opwright_codegen.targets.kernels.names import RESERVED, ShimNames
from opwright_codegen.targets.kernels.native_calls import DEVICE_MODULE, MODULE, NativeFastBuilder, NativeShimBuilder
from opwright_codegen.targets.kernels.shims import ShimBuilder
from opwright_codegen.targets.kernels.ufunc_rows import ufunc_row
from opwright_codegen.targets.native.facts import NativeFacts, native_facts
from opwright_codegen.targets.native.loops import loop_dtypes
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import fill_comment
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import NamespaceView

__all__ = ["TEMPLATE", "Backend", "Shim", "context", "shim_names"]

TEMPLATE = "kernels.py.j2"
# The names of all sets of kinds.
_DTYPES = {
    "".join(kinds): dtypes_name("".join(kinds))
    for count in range(1, len(ALL_KINDS) + 1)
    for kinds in combinations(ALL_KINDS, count)
}


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
    """A general shim: what keeps its plans ('' where nothing does), statements in the order they run, and its fast
    companions, or the row that the runtime makes these of."""

    forms: str
    comment: str
    signature: str
    statements: tuple[str, ...]
    fast: tuple[FastShim, ...]
    row: str = ""

    def texts(self) -> list[str]:
        """Return all text, for finding the names used."""
        found = [self.forms.replace("np.ndarray", "np"), self.row, self.signature, *self.statements]
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
    part: str,
    builder: type[ShimBuilder] = ShimBuilder,
    fast_builder: type[FastShimBuilder] = FastShimBuilder,
) -> dict[str, object] | None:
    """Return what the template shows; None where the backend serves no operator."""
    own = backend_bindings(bindings, backend.key)
    if not own:
        return None
    modules = _module_names(own, names)
    builtins = BuiltinNames(_functions(names))
    shims: list[Shim] = []
    for binding in own:
        found = names[binding.view.name]
        kind = _builder(binding) if builder is ShimBuilder else builder  # (a fake calls no kernel)
        general = kind(binding, builtins, found, backend.xp, modules)
        row = ufunc_row(binding, found.facts, found, backend.xp)
        fast = () if row else _fast_shims(general, found.facts, fast_builder, backend.key)
        comment = fill_comment(binding.view.declaration)
        forms = known_forms(general)
        shims.append(Shim(forms, comment, general.head(found.general), tuple(general.statements()), fast, row))
    words = words_in(text for shim in shims for text in shim.texts())
    dtypes = [(name, kinds) for kinds, name in _DTYPES.items() if name in words]
    if dtypes:
        words.add("plain_dtypes")
    if not any(isinstance(binding.kernel, Native | CudaKernel | Looped) for binding in own):
        words -= {MODULE, DEVICE_MODULE}
    return {"backend": backend, "shims": shims, "dtypes": dtypes, "imports": _imports(words, backend, modules, part)}


def _builder(binding: Binding) -> type[ShimBuilder]:
    match binding.kernel:
        case Native() | CudaKernel():
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
    general: ShimBuilder,
    facts: DenseFacts | NativeFacts | LoopFacts | None,
    builder: type[FastShimBuilder],
    key: str,
) -> tuple[FastShim, ...]:
    match facts:
        case NativeFacts():
            return NativeFastBuilder(general, facts, key).shims()
        case LoopFacts():
            return LoopFastBuilder(general, facts, key).shims()
        case DenseFacts():
            return builder(general, facts, key).shims()
        case _:
            return ()


def shim_names(bindings: Sequence[Binding], backend: Backend, metas: Mapping[str, MetaNames]) -> dict[str, ShimNames]:
    """Return the functions that the module has, by operator."""
    own = backend_bindings(bindings, backend.key)
    namer = Namer((*RESERVED, *_DTYPES.values()))
    general = {binding.view.name: namer.claim(binding.view.stub) for binding in own}
    found = {}
    for binding in own:
        stub = general[binding.view.name]
        facts = None if backend.key == "Meta" else _facts(binding, backend)
        known = known_facts(binding, backend.key)
        has_arrays = facts is not None and facts.takes_plain_arrays and backend.has_plain_arrays
        found[binding.view.name] = ShimNames(
            stub,
            namer.claim(f"{stub}_dense") if facts is not None else "",
            namer.claim(f"{stub}_arrays") if has_arrays else "",
            facts,
            namer.claim(f"{stub}_forms") if known is not None or view_kinds(binding, backend.key) else "",
            known,
            metas.get(binding.view.name),
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
    return {name for found in names.values() for name in (found.general, found.dense, found.arrays, found.forms)}


def _imports(words: Collection[str], backend: Backend, modules: dict[str, str], part: str) -> str:
    whole = [f"{backend.library} as {backend.xp}"] if backend.library and backend.xp in words else []
    whole += [name for name in ("builtins", "math") if name in words]
    extra = [(module.rpartition(".")[0], module.rpartition(".")[2], alias) for module, alias in modules.items()]
    extra += [(f"..{METAS}", part, ALIAS)] if ALIAS in words else []
    extra += [backend.native] if MODULE in words else []
    extra += [(f"..{MODULE}", "cuda", DEVICE_MODULE)] if DEVICE_MODULE in words else []
    return import_lines(words, whole, extra)
