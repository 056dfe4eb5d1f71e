"""Programs: the failing call as Python that runs alone, of ten lines at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from opwright.gate.cases import ROW_MAJOR, TEXTS, Array, Case
from opwright.gate.subjects import Subject

__all__ = ["program"]

_FEW: Final = 64  # elements that are written out
_LINES: Final = 10


def program(subject: Subject, case: Case, check: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """Return the program that makes the call. `before` and `check` are lines around it, in which each argument goes by
    its name, each array by its name (`x_` for x[0] and so on: `x0`), and the result by `result`.

    Where these are more than ten lines, arguments share lines.
    """
    names = subject.operator.signature.names
    imports: dict[str, None] = {f"import numpy as np, {subject.origin}": None}
    for module in subject.modules:
        imports[_import_of(module)] = None
    lines, words = [], []
    for position, value in enumerate(case.values):
        name = names[position]
        text, made = _text(name if name != "result" else "result_", value, imports, subject.origin)
        lines += made
        is_keyword = position >= subject.operator.signature.positional
        words.append(f"{name}={text}" if is_keyword else text)
    call = f"result = {subject.call_text}({', '.join(words)})"
    return "\n".join(_joined(list(imports), lines, [*before, call, *check]))


def _import_of(module: str) -> str:
    if module.startswith("from "):
        return module
    if module.endswith(".py"):
        return f"import runpy; kept = runpy.run_path({module!r})"
    return f"import {module}"


def _joined(imports: list[str], lines: list[str], rest: list[str]) -> list[str]:
    """Return all lines; arguments share one where there are too many."""
    if len(imports) + len(lines) + len(rest) > _LINES:
        imports = ["; ".join(each for each in imports if each.startswith("import"))] + [
            each for each in imports if not each.startswith("import")
        ]
    room = max(_LINES - len(imports) - len(rest), 1)
    if len(lines) > room:
        lines = [*lines[: room - 1], "; ".join(lines[room - 1 :])]
    return [*imports, *lines, *rest]


def _text(name: str, value: Any, imports: dict[str, None], origin: str) -> tuple[str, list[str]]:
    """Return the expression for an argument, and the lines that make its arrays."""
    if isinstance(value, Array):
        return f"{origin}.from_numpy({name})", [f"{name} = {_array_text(value, imports)}"]
    if isinstance(value, list | tuple) and any(isinstance(each, Array) for each in value):
        parts = [_text(f"{name}{number}", each, imports, origin) for number, each in enumerate(value)]
        return f"[{', '.join(text for text, _ in parts)}]", [line for _, made in parts for line in made]
    if isinstance(value, np.dtype):
        return f"{origin}.{value}", []
    return repr(value), []


def _array_text(value: Array, imports: dict[str, None]) -> str:
    array = value.values
    if str(array.dtype) in ("bfloat16",) or "float8" in str(array.dtype):
        imports["import ml_dtypes"] = None
    if value.text and array.size > _FEW:
        made = value.text
    elif array.size > _FEW:
        flat = array.ravel()[:_FEW]
        made = f"np.resize(np.array({_numbers(flat)}, {str(array.dtype)!r}), {array.shape})"
    else:
        shaped = f".reshape({array.shape})" if array.ndim > 1 and 0 in array.shape else ""
        made = f"np.array({_numbers(array)}, {str(array.dtype)!r}){shaped}"
    if value.layout == ROW_MAJOR or value.layout not in TEXTS:
        return made
    imported, text = TEXTS[value.layout]
    if imported:
        imports[imported] = None
    return text.format(made)


def _numbers(array: np.ndarray[Any, Any]) -> str:
    wide = array.astype(np.float64) if array.dtype.kind not in "biucf" else array
    text = str(wide.tolist())
    return text.replace("nan", "np.nan").replace("inf", "np.inf")
