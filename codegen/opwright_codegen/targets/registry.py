"""The targets that there are: ours, and those of installed distributions, by the entry points `opwright.targets`.

An entry point names a function from the declared set to files. Ours are in the same group (pyproject.toml). The table
below repeats them, so that generating reads no metadata of distributions unless a target of others is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, cast

from opwright_codegen.declared.model import Target

__all__ = ["GROUP", "OWN", "own_targets"]

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


def own_targets(bindings: Sequence[str] = ()) -> dict[str, Target]:
    """Return the targets of a package that is given to these frameworks, by their names."""
    return {name: loaded(OWN[name]) for name in (*_ALWAYS, *bindings)}


def loaded(value: str) -> Target:
    """Return what an entry point names, `module:function`."""
    module, _, path = value.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return cast("Target", found)
