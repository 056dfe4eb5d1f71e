"""The writer of `opwright/__init__.pyi`, by which editors and type checkers see the public names.

`python -m opwright.facade_stub` writes it from the table in `opwright/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import opwright
from opwright import aten_setup
from opwright.facade import CONSTANTS, places_of

__all__ = ["PATH", "text"]

PATH: Final = Path(__file__).with_name("__init__.pyi")


def text() -> str:
    """Return what the stub has to say.

    What stands instead of an operator's stub is imported before the operators and behind: of two definitions mypy
    takes the first, and pyright the last.
    """
    table: dict[str, Any] = vars(opwright)
    places, modules = places_of(table["_HOMES"]), table["_MODULES"]
    operators = {*aten_setup.operators.__all__}
    names: dict[str, list[tuple[str, str]]] = {}
    for name, (module, path) in places.items():
        if "." not in path:
            names.setdefault(module, []).append((path, name))
    instead = {module: [pair for pair in pairs if pair[1] in operators] for module, pairs in names.items()}
    public = [*CONSTANTS, *places, *modules]
    return "\n".join(
        (
            "# Written by `python -m opwright.facade_stub` from the table in `__init__.py`. Do not edit.",
            "# ruff: noqa: F403, F811, I001, RUF022",
            "",
            *_imported("math", [(name, name) for name in CONSTANTS if name != "newaxis"]),
            *_imported("opwright", [(name, name) for name in modules]),
            *_imports(names),
            "import opwright_aten.ops as _operators",
            "from opwright_aten.ops import *  # type: ignore[assignment, no-redef]",
            *_imports(instead),
            *_imported("opwright", [(name, name) for name in modules if name in operators]),
            "",
            "__version__: str",
            "newaxis: None",
            *(f"{name}: {path.partition('.')[0]}" for name, (_, path) in places.items() if "." in path),
            "",
            "__all__ = [",
            *(f'    "{name}",' for name in sorted(public) if not name.startswith("_")),
            "]",
            "__all__ += _operators.__all__",
            "",
        )
    )


def _imports(names: dict[str, list[tuple[str, str]]]) -> Iterable[str]:
    for module, pairs in names.items():
        if pairs:
            yield from _imported(module, pairs)


def _imported(module: str, pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
    first, *others = (f"{path} as {name}" for path, name in pairs)
    if not others:
        yield f"from {module} import {first}"
    else:
        yield from (f"from {module} import (", *(f"    {each}," for each in (first, *others)), ")")


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
