"""Examples of operators: a small call that ran, as it is written, and what Python printed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import opwright
from opwright_core.arrays.dtypes import bool_, float32, int64
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_gate.cases import Array, Case
from opwright_gate.subjects import Subject

__all__ = ["Example", "example_of"]

_MOST: Final = 48  # elements of an array that is written out
_LONGEST: Final = 2000  # characters of what is printed
_WIDTH: Final = 100
_DEFAULT: Final = (float32, int64, bool_)  # dtypes that numbers, written out, have by themselves


class Example(NamedTuple):
    """Lines of Python, of which the last is an expression, and what Python prints of it."""

    lines: tuple[str, ...]
    output: str


def example_of(subject: Subject, cases: Sequence[Case]) -> Example | None:
    """Return the first of these calls that is small, with rounded numbers where the operator takes them; None where
    there is none."""
    for case in [changed for each in cases for changed in (_rounded(each), each)]:
        if any(each.values.size > _MOST for each in case.arrays):
            continue
        lines = tuple(_lines(subject, case))
        output = _printed(lines)
        if output is not None and len(output) <= _LONGEST:
            return Example(lines, output)
    return None


def _rounded(case: Case) -> Case:
    return case.converted(lambda a, _: Array(np.round(a.values, 1)) if a.values.dtype.kind in "fc" else a)


def _printed(lines: Sequence[str]) -> str | None:
    """Return what Python prints of the last line, behind the others; None where it raises."""
    scope: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(lines[:-1]), scope)
            value = eval(lines[-1], scope)
            return "" if value is None else repr(value)
        except Exception:
            return None


def _lines(subject: Subject, case: Case) -> Iterator[str]:
    """Yield the lines of a call: what it writes goes by a name, and what it reads where a line would be long."""
    operator = subject.operator
    package = "" if operator.home is None else operator.home.module.partition(".")[0]
    yield "import opwright" if package in ("", "opwright_aten") else f"import opwright, {package}"
    if subject.draws_random_numbers:
        yield "opwright.manual_seed(0)"
    is_long = len(_call(operator, [_shown(value) for value in case.values])) > _WIDTH
    named = [
        place
        for place, value in enumerate(case.values)
        if place in operator.signature.written or (is_long and _has_arrays(value))
    ]
    texts = []
    for place, value in enumerate(case.values):
        argument = operator.arguments[place]
        if argument.default is not REQUIRED and _is_default(value, argument.default):
            texts.append("")
        elif place in named:
            yield f"{argument.name} = {_shown(value)}"
            texts.append(argument.name)
        else:
            texts.append(_shown(value))
    yield _call(operator, texts)


def _call(operator: Operator, texts: Sequence[str]) -> str:
    return f"{_callee(operator)}({', '.join(_arguments(operator, texts))})"


def _has_arrays(value: Any) -> bool:
    return isinstance(value, Array) or (isinstance(value, list | tuple) and any(map(_has_arrays, value)))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not isinstance(value, Array) and value == default)


def _arguments(operator: Operator, texts: Sequence[str]) -> Iterator[str]:
    """Yield arguments as they are written: by name behind one that is left out."""
    by_name = False
    for place, (argument, text) in enumerate(zip(operator.arguments, texts, strict=True)):
        if not text:
            by_name = True
        elif by_name or place >= operator.signature.positional:
            yield f"{argument.name}={text}"
        else:
            yield text


def _callee(operator: Operator) -> str:
    """Return how an operator is called: as the function of its name, if there is one and no other overload is near."""
    packet = f"opwright.ops.{operator.namespace}.{operator.base}"
    if operator.namespace == "aten" and hasattr(opwright, operator.base):
        packet = f"opwright.{operator.base}"
    alone = len(operator.siblings) == 1 or operator.overload == ""
    function = operator.namespace == "aten" and packet.count(".") == 1
    return packet if alone or function else f"{packet}.{operator.overload}"


def _shown(value: Any) -> str:
    if isinstance(value, Array):
        dtype = opwright.as_tensor(value.values).dtype
        given = "" if dtype in _DEFAULT and value.values.size else f", dtype=opwright.{dtype}"
        shaped = f".reshape({value.values.shape})" if 0 in value.values.shape and value.values.ndim > 1 else ""
        return f"opwright.tensor({_numbers(value.values)}{given}){shaped}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return f"opwright.{value}" if isinstance(value, np.dtype) else repr(value)


def _numbers(array: np.ndarray[Any, Any]) -> str:
    wide = array.astype(np.float64) if array.dtype.kind not in "biucf" else array
    text = str((np.round(wide.astype(np.float64), 6) if wide.dtype == np.float32 else wide).tolist())
    return text.replace("nan", "float('nan')").replace("inf", "float('inf')")
