"""References: functions that say what the values of an operator mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["reference", "reference_of"]

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
