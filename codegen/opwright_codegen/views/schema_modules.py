"""The schema modules of a package: one for each schema file, with its own module for each target.

Note [Schema modules]
A schema module has the name of its schema file, without the folder and `.yaml`, as far as Python takes that for a
name. Files of one name in different folders have the folder's name before it. A name that an operator's function has
gets `_ops` behind it, since both are attributes of the package `ops`. Underscores tell apart what is still the same,
also for file systems that know no case. All overloads of a name stand in the module of the file that declares the
first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

from opwright_codegen.read.model import Operator
from opwright_codegen.views.names import Namer

__all__ = ["modules_of_files"]

_NO_WORD = re.compile(r"\W", re.ASCII)


class _View(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def operator(self) -> Operator: ...


def modules_of_files(
    packets: Mapping[str, Sequence[_View]], sources: Iterable[str], taken: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the schema modules, each with the path of its schema file, and the one of each operator. `taken`: the
    names that modules of operators have for other things."""
    names = _module_names(sources, taken)
    homes: dict[str, str] = {}
    for group in packets.values():
        module = names[group[0].operator.location.source.path]
        homes.update({view.name: module for view in group})
    used = set(homes.values())
    return {module: path for path, module in names.items() if module in used}, homes


def _module_names(sources: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return the name of each file's module, by its path."""
    paths = {path: PurePath(path) for path in sources}
    stems = [_stem(path) for path in paths.values()]
    namer = Namer((*taken, "__init__"))
    others = frozenset(taken)
    lowered: set[str] = set()
    found = {}
    for path, pure in paths.items():
        wanted = _stem(pure)
        if stems.count(wanted) > 1 and pure.parent.name:
            wanted = _word(f"{pure.parent.name}_{wanted}")
        module = namer.claim(f"{wanted}_ops" if wanted in others else wanted)
        while module.casefold() in lowered:
            module = namer.claim(f"{module}_")
        lowered.add(module.casefold())
        found[path] = module
    return found


def _stem(path: PurePath) -> str:
    return _word(path.name.removesuffix(".yaml").removesuffix(".yml"))


def _word(text: str) -> str:
    word = _NO_WORD.sub("_", text)
    if not word.strip("_"):
        return "schema"
    return f"_{word}" if word[0].isdigit() else word
