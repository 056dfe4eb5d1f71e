"""`register.py`: which functions handle which operators and keys, a row for each operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.declared.parts import BACKENDS, Binding, Named, Unbound, composite_bindings
from opwright_codegen.targets.gradients import autograd
from opwright_codegen.targets.kernels import autocast, composites, metas
from opwright_codegen.targets.kernels.composites import composite_names
from opwright_codegen.targets.kernels.metas import has_fake
from opwright_codegen.targets.kernels.ufunc_rows import ufunc_text
from opwright_codegen.targets.ops.schema_module import FOLDERS, SchemaModule
from opwright_codegen.views.layout import bracketed, filled, quoted
from opwright_codegen.views.operators import OperatorView, tuple_text

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "register.py.j2"
# They have the annotations, and return their argument: `detach_` writes to no memory, `lift_fresh` makes no view. The
# results of the others are views without history (`opwright.autograd.detach`).
_NEITHER = frozenset(("aten::detach_", "aten::lift_fresh", "aten::detach", "aten::view.dtype"))


def context(modules: Sequence[SchemaModule], skipped: Sequence[str]) -> dict[str, object]:
    """Return what the template shows: the rows of each schema module. `skipped`: what autograd has nothing to do
    for."""
    views = {name: view for module in modules for name, view in module.view.operators.items()}
    words: dict[str, list[str]] = {name: [] for name in views}
    homes = {name: module.name for module in modules for name in module.view.operators}
    for module in modules:
        for binding, *texts in _kernels(module):
            words[binding.view.name] += filter(None, texts)
    for module in modules:
        for each in module.recordings:
            own = module.name == homes[each.view.name]
            words[each.view.name].append(
                _wrapper(each.key, autograd.FOLDER, module.name, each.function, each.view, own)
            )
    for name in skipped:
        words[name].append(quoted("-Autograd"))
    for module in modules:
        for name in _inplace_or_view(module.bindings):
            words[name].append(quoted("ADInplaceOrView"))
        for name, function in autocast.wrapper_names(module.view).items():
            written_out = _tuple(autocast.KEY, f".{autocast.FOLDER}.{module.name}", function)
            words[name].append(quoted(autocast.FOLDER) if function == views[name].stub else written_out)
        for rule in module.rules:
            for view in rule.views:
                is_own = module.name == homes[view.name]
                words[view.name].append(quoted("forward") if is_own else _tuple("forward", f".forward.{module.name}"))
    rows = [(module.name, [_row(view, words[name]) for name, view in _grouped(module)]) for module in modules]
    return {"modules": rows, "batching": _batching(modules)}


def _grouped(module: SchemaModule) -> Iterator[tuple[str, OperatorView]]:
    for group in module.view.packets.values():
        yield from ((view.name, view) for view in group)


def _kernels(module: SchemaModule) -> Iterator[tuple[Binding, str, str]]:
    names = composite_names(composite_bindings(module.bindings))
    for binding in module.bindings:
        stub, key = binding.view.stub, binding.key
        ufunc = ""
        match binding.kernel:
            case Unbound(name):
                text = _tuple(key, "", name, "", "")
            case _ if key == "Meta" and has_fake(binding):
                text = _fake(binding, module)
            case _ if key in BACKENDS:
                found = module.shims[key][binding.view.name]
                functions = (found.general, found.dense, found.arrays)
                text = _kernel(key, FOLDERS[key], module.name, functions, stub)
                if key == "CPU" and (of_ufunc := ufunc_text(binding, found.facts)):
                    ufunc = _ufunc(of_ufunc)
            case Named(function):
                text = _tuple(key, function.module, function.name, "", "")
            case _:
                function_name = names[binding.view.name, key]
                text = _kernel(key, composites.FOLDER, module.name, (function_name, "", ""), stub)
        yield binding, text, ufunc


def _inplace_or_view(bindings: Sequence[Binding]) -> list[str]:
    """Return the operators whose writes and views the runtime notes, by their annotations. Composites have no such
    kernel: what they call does."""
    views = {binding.view.name: binding.view for binding in bindings}
    implicit = {binding.view.name for binding in bindings if binding.key == "CompositeImplicitAutograd"}
    return [
        name
        for name, view in views.items()
        if name not in implicit | _NEITHER and (view.schema.mutated_arguments or view.schema.is_view)
    ]


def _kernel(key: str, folder: str, module: str, functions: tuple[str, str, str], stub: str) -> str:
    """Return a generated kernel: its key, where the functions have the names that the runtime expects."""
    general, dense, arrays = functions
    if general == stub and dense in ("", f"{stub}_dense") and arrays in ("", f"{stub}_arrays"):
        return quoted("+".join((key, *(["dense"] if dense else []), *(["arrays"] if arrays else []))))
    return _tuple(key, f".{folder}.{module}", general, dense, arrays)


def _fake(binding: Binding, module: SchemaModule) -> str:
    """Return a fake kernel that the runtime makes of a function of `metas`."""
    function = module.metas[binding.view.name].function
    return quoted(metas.FOLDER) if function == binding.view.stub else _tuple(metas.FOLDER, function)


def _wrapper(key: str, folder: str, module: str, function: str, view: OperatorView, is_own: bool) -> str:
    if is_own and function == view.stub:
        return quoted(key)
    return _tuple(key, f".{folder}.{module}", function)


def _tuple(*values: str) -> str:
    return filled("(", [quoted(value) for value in values], "),", 12).removesuffix(",")  # one follows in a row


def _ufunc(text: str) -> str:
    """Return the tuple of a ufunc, `ufunc add(0, 1) biufce in place`: its name, positions, kinds, and whether in
    place."""
    name, _, rest = text.removeprefix("ufunc ").partition("(")
    positions, _, kinds = rest.partition(") ")
    numbers = tuple(map(int, positions.split(", ")))
    return f'("ufunc", {quoted(name)}, {numbers!r}, {quoted(kinds.removesuffix(" in place"))}, {" in place" in kinds})'


def _row(view: OperatorView, words: Sequence[str]) -> str:
    short = view.name.partition("::")[2]
    return filled("(", [quoted(short), quoted(view.stub), *words], "),", 8)


def _batching(modules: Sequence[SchemaModule]) -> str:
    names = [quoted(module.name) for module in modules if module.families]
    return bracketed("(", names, ")", 0, len("BATCHING: tuple[str, ...] = ")) if len(names) > 1 else tuple_text(names)
