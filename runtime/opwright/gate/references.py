"""References: functions that say what the values of an operator mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright.gate.cases import Array, Case

if TYPE_CHECKING:
    from opwright.gate.subjects import Subject

__all__ = ["given_by_reference", "reference", "reference_of", "refusal_of_reference"]

_REFERENCES: Final[dict[str, Callable[..., Any]]] = {}


def reference(name: str, function: Callable[..., Any] | None = None) -> Any:
    """Say what an operator computes: a function of its arguments, in order, that is given and returns NumPy arrays.

    `name` is qualified, `"mylib::scale"`. Floating-point arguments come in float64 (complex ones in complex128), so
    that the function can be the plain formula. Without `function` it is a decorator. What an operator writes to, the
    function returns: after the results, in the order of the arguments, unless they are results.
    """
    if function is None:
        return lambda given: reference(name, given)
    _REFERENCES[name.removesuffix(".default")] = function
    return function


def reference_of(name: str) -> Callable[..., Any] | None:
    """Return what was declared for an operator, None where nothing was."""
    return _REFERENCES.get(name)


def given_by_reference(subject: Subject, case: Case) -> Any:
    """Return what the reference gives for a call, in wide dtypes, or the error that it raises."""
    assert subject.reference is not None
    values = [_wide(value) for value in case.values]
    try:
        with np.errstate(all="ignore"):
            return subject.reference(*values)
    except Exception as error:
        return error


def refusal_of_reference(subject: Subject, case: Case) -> Exception | None:
    """Return what the reference raises for a call, None where it takes it."""
    found = given_by_reference(subject, case)
    return found if isinstance(found, Exception) else None


def _wide(value: Any) -> Any:
    if isinstance(value, Array):
        array = value.values
        if array.dtype.kind in "b":
            return array.copy()
        kind = np.complex128 if array.dtype.kind == "c" else np.int64 if array.dtype.kind in "iu" else np.float64
        return array.astype(kind)
    return [_wide(item) for item in value] if isinstance(value, list | tuple) else value
