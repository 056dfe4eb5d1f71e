"""The targets that there are: ours, and those of installed distributions, by the entry points `opwright.targets`.

An entry point names a function from the declared set to files. Ours are in the same group (pyproject.toml). The table
below repeats them, so that generating reads no metadata of distributions unless a target of others is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, cast

from opwright_codegen.declared.model import Target
from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.records import dataclass
from opwright_codegen.targets.foreign import guarded

__all__ = ["GROUP", "OWN", "Found", "found_targets", "is_always_made", "other_targets", "own_targets"]

GROUP: Final = "opwright.targets"
# What every package gets, and then what `bindings` of [tool.opwright] may name.
OWN: Final[Mapping[str, str]] = {
    "package": "opwright_codegen.targets.library:package_files",
    "ops": "opwright_codegen.targets.library:ops",
    "kernels": "opwright_codegen.targets.library:kernels",
    "gradients": "opwright_codegen.targets.library:gradients",
    "native": "opwright_codegen.targets.compiled:native",
    "cuda": "opwright_codegen.targets.compiled:cuda",
    "torch": "opwright_codegen.targets.frameworks:torch",
    "dask": "opwright_codegen.targets.frameworks:dask",
    "jax": "opwright_codegen.targets.frameworks:jax",
    "tvm_ffi": "opwright_codegen.targets.frameworks:tvm_ffi",
}
_ALWAYS: Final = ("package", "ops", "kernels", "gradients", "native", "cuda")


@dataclass(frozen=True, slots=True)
class Found:
    """A target that there is: its name, the function that it is, and the distribution that it comes from."""

    name: str
    value: str
    distribution: str
    is_own: bool


def is_always_made(name: str) -> bool:
    """Return whether every package has the files of a target of ours."""
    return name in _ALWAYS


def own_targets(bindings: Sequence[str] = ()) -> dict[str, Target]:
    """Return the targets of a package that is given to these frameworks, by their names."""
    return {name: _loaded(OWN[name]) for name in (*_ALWAYS, *bindings)}


def other_targets(names: Sequence[str]) -> dict[str, Target]:
    """Return targets of other distributions. Raises SchemaError for a name that none has, or that several have."""
    known = [each for each in found_targets() if not each.is_own] if names else []
    targets = {}
    for name in names:
        if name in OWN:
            hint = "it is made for every package" if name in _ALWAYS else f'write bindings = ["{name}"]'
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


def found_targets() -> list[Found]:
    """Return all targets: ours, and then those of other distributions, by their names."""
    from importlib.metadata import entry_points

    from opwright_codegen import VERSION

    own = [Found(name, value, f"opwright {VERSION}", True) for name, value in OWN.items()]
    others = {
        Found(each.name, each.value, f"{each.dist.name} {each.dist.version}" if each.dist is not None else "", False)
        for each in entry_points(group=GROUP)
        if OWN.get(each.name) != each.value
    }
    return [*own, *sorted(others, key=attrgetter("name", "value", "distribution"))]


def _loaded(value: str) -> Target:
    """Return what an entry point names, `module:function`."""
    module, _, path = value.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return cast("Target", found)
