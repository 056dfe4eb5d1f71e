"""`register.py`: which functions handle which operators and keys, a row for each operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.bindings.bind import BACKENDS, Binding, Named, Unbound, composite_bindings
from opwright_codegen.targets.gradients import autograd
from opwright_codegen.targets.kernels import autocast, composites, metas
from opwright_codegen.targets.kernels.composites import composite_names
from opwright_codegen.targets.kernels.metas import has_fake
from opwright_codegen.targets.kernels.ufunc_rows import ufunc_text
from opwright_codegen.targets.ops.part import FOLDERS, Part
from opwright_codegen.views.layout import bracketed, filled, quoted
from opwright_codegen.views.operators import OperatorView, tuple_text

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "register.py.j2"
# They have the annotations, and return their argument: `detach_` writes to no memory, `lift_fresh` makes no view. The
# results of the others are views without history (`opwright.autograd.detach`).
_NEITHER = frozenset(("aten::detach_", "aten::lift_fresh", "aten::detach", "aten::view.dtype"))


def context(parts: Sequence[Part], skipped: Sequence[str]) -> dict[str, object]:
    """Return what the template shows: the rows of each schema module. `skipped`: what autograd has nothing to do
    for."""
    views = {name: view for part in parts for name, view in part.view.operators.items()}
    words: dict[str, list[str]] = {name: [] for name in views}
    homes = {name: part.name for part in parts for name in part.view.operators}
    for part in parts:
        for binding, *texts in _kernels(part):
            words[binding.view.name] += filter(None, texts)
    for part in parts:
        for each in part.recordings:
            own = part.name == homes[each.view.name]
            words[each.view.name].append(_wrapper(each.key, autograd.FOLDER, part.name, each.function, each.view, own))
    for name in skipped:
        words[name].append(quoted("-Autograd"))
    for part in parts:
        for name in _inplace_or_view(part.bindings):
            words[name].append(quoted("ADInplaceOrView"))
        for name, function in autocast.wrapper_names(part.view).items():
            written_out = _tuple(autocast.KEY, f".{autocast.FOLDER}.{part.name}", function)
            words[name].append(quoted(autocast.FOLDER) if function == views[name].stub else written_out)
        for rule in part.rules:
            for view in rule.views:
                is_own = part.name == homes[view.name]
                words[view.name].append(quoted("forward") if is_own else _tuple("forward", f".forward.{part.name}"))
    rows = [(part.name, [_row(view, words[name]) for name, view in _grouped(part)]) for part in parts]
    return {"parts": rows, "batching": _batching(parts)}


def _grouped(part: Part) -> Iterator[tuple[str, OperatorView]]:
    for group in part.view.packets.values():
        yield from ((view.name, view) for view in group)


def _kernels(part: Part) -> Iterator[tuple[Binding, str, str]]:
    names = composite_names(composite_bindings(part.bindings))
    for binding in part.bindings:
        stub, key = binding.view.stub, binding.key
        ufunc = ""
        match binding.kernel:
            case Unbound(name):
                text = _tuple(key, "", name, "", "")
            case _ if key == "Meta" and has_fake(binding):
                text = _fake(binding, part)
            case _ if key in BACKENDS:
                found = part.shims[key][binding.view.name]
                functions = (found.general, found.dense, found.arrays)
                text = _kernel(key, FOLDERS[key], part.name, functions, stub)
                if key == "CPU" and (of_ufunc := ufunc_text(binding, found.facts)):
                    ufunc = _ufunc(of_ufunc)
            case Named(function):
                text = _tuple(key, function.module, function.name, "", "")
            case _:
                function_name = names[binding.view.name, key]
                text = _kernel(key, composites.FOLDER, part.name, (function_name, "", ""), stub)
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


def _kernel(key: str, folder: str, part: str, functions: tuple[str, str, str], stub: str) -> str:
    """Return a generated kernel: its key, where the functions have the names that the runtime expects."""
    general, dense, arrays = functions
    if general == stub and dense in ("", f"{stub}_dense") and arrays in ("", f"{stub}_arrays"):
        return quoted("+".join((key, *(["dense"] if dense else []), *(["arrays"] if arrays else []))))
    return _tuple(key, f".{folder}.{part}", general, dense, arrays)


def _fake(binding: Binding, part: Part) -> str:
    """Return a fake kernel that the runtime makes of a function of `metas`."""
    function = part.metas[binding.view.name].function
    return quoted(metas.FOLDER) if function == binding.view.stub else _tuple(metas.FOLDER, function)


def _wrapper(key: str, folder: str, part: str, function: str, view: OperatorView, is_own: bool) -> str:
    if is_own and function == view.stub:
        return quoted(key)
    return _tuple(key, f".{folder}.{part}", function)


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


def _batching(parts: Sequence[Part]) -> str:
    names = [quoted(part.name) for part in parts if part.families]
    return bracketed("(", names, ")", 0, len("BATCHING: tuple[str, ...] = ")) if len(names) > 1 else tuple_text(names)
