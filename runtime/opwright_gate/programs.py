"""Programs: the failing call as Python that runs alone, of ten lines at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from opwright_gate.cases import ROW_MAJOR, TEXTS, Array, Case
from opwright_gate.subjects import Subject

__all__ = ["program"]

_FEW: Final = 64  # elements that are written out
_LINES: Final = 10
_FROM: Final = "from opwright_gate."


def program(subject: Subject, case: Case, check: Sequence[str] = (), before: Sequence[str] = ()) -> str:
    """Return the program that makes the call. `before` and `check` are lines around it, in which each argument goes by
    its name, each array by its name (`x_` for x[0] and so on: `x0`), and the result by `result`. These words stand for:

    {origin}    the package that is imported: `opwright`, `torch`
    {copies}    row-major copies of all arrays; {plain}  the call with these, once they are called `copies`
    {arrays}    all arrays
    {fake}      the call with fakes of a `mode`
    {inputs}    the floating-point arrays as Tensors that require grad; {function}  the call as a function of these

    Where these are more than ten lines, arguments share lines.
    """
    names = subject.operator.signature.names
    imports: dict[str, None] = {f"import numpy as np, {subject.origin}": None}
    for module in subject.modules:
        imports[_import_of(module)] = None
    lines = []
    for position, value in enumerate(case.values):
        lines += _lines_of(_named(names[position]), value, imports)
    arrays = _arrays_of(case, names)
    floats = [name for name, each in arrays if each.values.dtype.kind in "fc"]
    numbers = {name: number for number, (name, _) in enumerate(arrays)}
    wrapped = f"{subject.origin}.from_numpy"
    words = {
        "{origin}": subject.origin,
        "{arrays}": f"[{', '.join(numbers)}]",
        "{copies}": f"[np.array(each, order='C') for each in [{', '.join(numbers)}]]",
        "{plain}": _call(subject, case, lambda name: f"{wrapped}(copies[{numbers[name]}])"),
        "{fake}": _call(subject, case, lambda name: f"mode.from_tensor({wrapped}({name}))"),
        "{inputs}": f"[{', '.join(f'{wrapped}({name}).requires_grad_()' for name in floats)}]",
        "{function}": f"lambda {', '.join(floats)}: "
        + _call(subject, case, lambda name: name if name in floats else f"{wrapped}({name})"),
    }
    if case.guarded:
        imports[f"{_FROM}allocating import guarded_results"] = None
    within = f"with guarded_results(at_end={case.guarded == 'flush to the end'}): " if case.guarded else ""
    call = f"{within}result = {_call(subject, case, lambda name: f'{wrapped}({name})')}"
    rest = [_filled(line, words) for line in (*before, call, *check)]
    return "\n".join(_joined(list(imports), lines, rest))


def _filled(line: str, words: dict[str, str]) -> str:
    for word, text in words.items():
        line = line.replace(word, text)
    return line


def _named(name: str) -> str:
    return name if name not in ("result", "copies", "mode", "inputs") else f"{name}_"


def _arrays_of(case: Case, names: Sequence[str]) -> list[tuple[str, Array]]:
    """Return the arrays of a call, each with its name in the program."""
    found: list[tuple[str, Array]] = []
    for position, value in enumerate(case.values):
        name = _named(names[position])
        if isinstance(value, Array):
            found.append((name, value))
        elif isinstance(value, list | tuple):
            found += [(f"{name}{number}", each) for number, each in enumerate(value) if isinstance(each, Array)]
    return found


def _call(subject: Subject, case: Case, tensor: Callable[[str], str]) -> str:
    """Return the expression of a call, in which `tensor` makes one of an array by its name."""
    signature, words = subject.operator.signature, []
    for position, value in enumerate(case.values):
        text = _argument(_named(signature.names[position]), value, subject.origin, tensor)
        words.append(f"{signature.names[position]}={text}" if position >= signature.positional else text)
    return f"{subject.call_text}({', '.join(words)})"


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


def _argument(name: str, value: Any, origin: str, tensor: Callable[[str], str]) -> str:
    """Return the expression for an argument."""
    if isinstance(value, Array):
        return tensor(name)
    if isinstance(value, list | tuple) and any(isinstance(each, Array) for each in value):
        return f"[{', '.join(_argument(f'{name}{n}', each, origin, tensor) for n, each in enumerate(value))}]"
    return f"{origin}.{value}" if isinstance(value, np.dtype) else repr(value)


def _lines_of(name: str, value: Any, imports: dict[str, None]) -> list[str]:
    """Return the lines that make the arrays of an argument."""
    if isinstance(value, Array):
        return [f"{name} = {_array_text(value, imports)}"]
    if isinstance(value, list | tuple) and any(isinstance(each, Array) for each in value):
        return [line for n, each in enumerate(value) for line in _lines_of(f"{name}{n}", each, imports)]
    return []


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
