"""Variations of a call: other words, flags and numbers for each argument that is no array, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from opwright.testing import arguments
from opwright_core.dispatch.call.operator import Operator
from opwright_gate.cases import Array, Case

__all__ = ["DIMS", "at_bounds", "variations"]

DIMS: Final = ("dim", "axis", "dim0", "dim1")
_NUMBERS: Final = (0, 1, -1, 2, 0.5, -1.5, float("inf"))
_WHOLE: Final = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 0.5, -0.5, 6.0)


def variations(operator: Operator, case: Case) -> Iterator[Case]:
    """Yield the call with each flag turned, each other word, other numbers, and without what may be None; the same with
    integers where there were none."""
    yield from _one_by_one(operator, case)
    filled = case
    for place, (text, value) in enumerate(zip(operator.signature.types, case.values, strict=True)):
        if value is None and text in ("int?", "SymInt?"):
            filled = filled.with_value(place, 1)
    if filled is not case:
        yield filled
        yield from _one_by_one(operator, filled)
    if any(name in DIMS for name in operator.signature.names):
        square = case.resized(dict.fromkeys(case.sizes, 3))  # of which each dimension can be meant
        yield from _one_by_one(operator, square, DIMS)


def _one_by_one(operator: Operator, case: Case, only: Sequence[str] = ()) -> Iterator[Case]:
    signature = operator.signature
    for place, (name, text, value) in enumerate(zip(signature.names, signature.types, case.values, strict=True)):
        if only and name not in only:
            continue
        for other in _others(name, text.rstrip("?"), value):
            if other != value or type(other) is not type(value):
                yield case.with_value(place, other)
        if text.endswith("?") and value is not None:
            yield case.with_value(place, None)


def _others(name: str, base: str, value: Any) -> Sequence[Any]:
    if base == "bool":
        return (True, False)
    if base == "str":
        return arguments.WORDS.get(name, ())
    if base in ("float", "Scalar"):
        return _NUMBERS
    if base in ("int", "SymInt"):
        return (0, 1, 2) if name == "reduction" else (0, 1, -1) if name in DIMS else ()
    return ()


def at_bounds(case: Case) -> Iterator[Case]:
    """Yield the call with values at which functions change their formulas: whole numbers, and those of the call."""
    given = [float(each) for each in case.values if type(each) in (int, float) and abs(each) < 1e6]
    numbers = np.array([*given, *_WHOLE])
    largest = max((each.values.size for each in case.arrays), default=0)
    for start in range(0, len(numbers), largest) if largest else ():
        yield case.converted(lambda a, _, start=start: _filled(a, np.roll(numbers, -start)), "bounds")  # type: ignore[misc]
        if start >= 3 * largest:
            return


def _filled(value: Array, numbers: np.ndarray[Any, Any]) -> Array:
    array = value.values
    return value if array.dtype.kind in "biu" else Array(np.resize(numbers, array.shape).astype(array.dtype))
