"""The smallest call that fails: sizes, values and layouts made plainer while the same thing goes wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from opwright_gate.cases import ROW_MAJOR, Array, Case

__all__ = ["shrink"]

_SECONDS: Final = 0.15
_TRIES: Final = 40


def shrink(case: Case, fails: Callable[[Case], bool], *, seconds: float = _SECONDS, tries: int = _TRIES) -> Case:
    """Return a call like this one, no larger, for which `fails` is true as for this one: of what is tried, the last.

    Ends after some tries or a little time, whichever comes first.
    """
    until, left, moved = time.monotonic() + seconds, tries, True
    while moved:
        moved = False
        for smaller in _smaller(case):
            if not left or time.monotonic() > until:
                return case
            left -= 1
            if _is_so(fails, smaller):
                case, moved = smaller, True
                break
    return case


def _is_so(fails: Callable[[Case], bool], case: Case) -> bool:
    try:
        return fails(case)
    except Exception:
        return False


def _smaller(case: Case) -> Iterator[Case]:
    """Yield calls that are plainer in one way each."""
    if case.guarded and any(each.layout != ROW_MAJOR for each in case.arrays):
        yield case.converted(lambda a, _: replace(a, layout=ROW_MAJOR))
        yield replace(case, guarded="")
    sizes = sorted({size for each in case.arrays for size in each.values.shape if size > 1}, reverse=True)
    for size in sizes:
        for less in (1, 2, size // 2, size - 1):
            if less < size and (less > 0):
                yield _cut(case, size, less)
    for number, each in enumerate(case.arrays):
        if each.layout != ROW_MAJOR:
            yield _changed(case, number, replace(each, layout=ROW_MAJOR))
    for number, each in enumerate(case.arrays):
        plain = _plain(each.values)
        if plain is not None:
            yield _changed(case, number, Array(plain, each.layout))


def _cut(case: Case, size: int, less: int) -> Case:
    """Return the call with the first elements alone of each dimension of this size."""

    def convert(value: Array, _: int) -> Array:
        index = tuple(slice(less) if each == size else slice(None) for each in value.values.shape)
        return Array(np.array(value.values[index], order="C"), value.layout)

    moved = case.converted(convert)
    return replace(moved, values=tuple(_numbers(value, size, less) for value in moved.values))


def _numbers(value: Any, size: int, less: int) -> Any:
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        return [less if item == size else item for item in value]
    return value


def _changed(case: Case, number: int, value: Array) -> Case:
    count = iter(range(len(case.arrays)))
    return case.converted(lambda a, _: value if next(count) == number else a)


def _plain(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return values that are easier to read, None where they are plain already."""
    if values.dtype.kind in "biu" or values.size > 64 or not values.size:
        return None
    with np.errstate(all="ignore"):
        plain = np.asarray(np.arange(1, values.size + 1).reshape(values.shape).astype(values.dtype))
    return None if np.array_equal(plain, values) else plain
