"""The targets that exist: those of every package, the bindings, and those of installed distributions.

A target is an entry point of the group `opwright.targets`: a function from the declared set to files. The table below
has the targets that every package gets, so that no metadata is read for them. The generator's `pyproject.toml` has the
same rows. Metadata of other distributions is read only if a project asks for a target. Bindings are folders
(`declared.binding_folders`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, cast

from opwright_codegen.declared.binding_folders import BindingFolder, find_bindings, other_bindings, own_bindings
from opwright_codegen.declared.model import Target
from opwright_codegen.errors import SchemaError, nearest, shorten
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span
from opwright_codegen.targets.foreign import guarded

__all__ = ["GROUP", "OWN", "Found", "binding_of", "found_targets", "other_targets", "own_targets"]

GROUP: Final = "opwright.targets"
OWN: Final[Mapping[str, str]] = {
    "package": "opwright_codegen.targets.library:package_files",
    "ops": "opwright_codegen.targets.library:ops",
    "kernels": "opwright_codegen.targets.library:kernels",
    "gradients": "opwright_codegen.targets.library:gradients",
    "native": "opwright_codegen.targets.compiled:native",
    "cuda": "opwright_codegen.targets.compiled:cuda",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A target that exists: its name, its function or package, its distribution, and when it makes its files."""

    name: str
    value: str
    distribution: str
    made: str


def own_targets(bindings: Sequence[str] = ()) -> dict[str, Target]:
    """Return the targets of a package with these bindings, by their names. Raises SchemaError as `binding_of`."""
    found = {name: _loaded(value) for name, value in OWN.items()}
    if bindings:
        from opwright_codegen.targets.binding_files import binding_target

        found |= {name: binding_target(binding_of(name)) for name in bindings}
    return found


def binding_of(name: str, span: Span | None = None) -> BindingFolder:
    """Return the binding of that name. Raises SchemaError if none is installed, or several are."""
    found = find_bindings(name)
    if len(found) > 1:
        places = " and ".join(f"{each.package} of {each.distribution}" for each in found)
        message = f"several distributions have a binding {name!r}: {places}"
        raise SchemaError("unknown-framework", message, span, "uninstall one of them")
    if found:
        return found[0]
    known = [*own_bindings(), *(each.name for each in other_bindings())]
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"installed: {', '.join(known)}"
    if not own_bindings():
        hint = "the bindings to frameworks come with the library: pip install opwright"
    raise SchemaError("unknown-framework", f"no binding {shorten(repr(name))} is installed", span, hint)


def other_targets(names: Sequence[str]) -> dict[str, Target]:
    """Return targets of other distributions. Raises SchemaError for a name that none has, or that several have."""
    known = _others() if names else []
    targets = {}
    for name in names:
        if name in OWN or name in own_bindings():
            hint = "it is made for every package" if name in OWN else f'write bindings = ["{name}"]'
            raise SchemaError("unknown-target", f"the target {name!r} is one of Opwright's own", hint=hint)
        matched = [each for each in known if each.name == name]
        if not matched:
            near = nearest(name, [each.name for each in known])
            others = ", ".join(sorted({each.name for each in known}))
            hint = f"did you mean {near!r}?" if near else f"installed: {others}" if others else "none is installed"
            raise SchemaError("unknown-target", f"no installed distribution has the target {name!r}", hint=hint)
        if len(matched) > 1:
            places = " and ".join(f"{each.value} of {each.distribution}" for each in matched)
            message = f"several distributions have a target {name!r}: {places}"
            raise SchemaError("unknown-target", message, hint="uninstall one of them")
        value = matched[0].value
        targets[name] = guarded(f"the target {name!r} of {matched[0].distribution}", partial(_loaded, value))
    return targets


def found_targets(chosen: Sequence[str] = ()) -> list[Found]:
    """Return all targets: those of every package, bindings, and then targets of other distributions, by their names.
    `chosen` are the targets that the settings name."""
    from opwright_codegen import VERSION

    always = [Found(name, value, f"opwright {VERSION}", "always") for name, value in OWN.items()]
    bindings = [*own_bindings().values(), *other_bindings()]
    beside = [Found(each.name, each.package, each.distribution, "by bindings") for each in bindings]
    return [*always, *beside, *_others(chosen)]


def _others(chosen: Sequence[str] = ()) -> list[Found]:
    from importlib.metadata import entry_points

    found = {
        Found(
            each.name,
            each.value,
            f"{each.dist.name} {each.dist.version}" if each.dist is not None else "",
            "by targets" if each.name in chosen else "on request",
        )
        for each in entry_points(group=GROUP)
        if OWN.get(each.name) != each.value
    }
    return sorted(found, key=attrgetter("name", "value", "distribution"))


def _loaded(value: str) -> Target:
    """Return what an entry point names, `module:function`."""
    module, _, path = value.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return cast("Target", found)
