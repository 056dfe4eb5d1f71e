"""Former versions of operators, and what is deprecated, as generated packages list them in `versions.py`."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator
from opwright_core.texts.package_tables import table_of

__all__ = ["former_versions", "version_of", "warning_first"]

_Former = tuple[str, Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]]
_running: Final = threading.local()  # the deprecated operator whose call has warned
_ROOTS: Final = "opwright.", *(f"opwright_{name}." for name in ("bindings", "codegen", "core", "gate", "kernels"))


def former_versions(operator: Operator) -> list[_Former]:
    """Return the former versions of an operator, the oldest first: its declaration then, and the function that writes a
    call of it, all arguments given, as one of the present version."""
    found: list[_Former] = table_of(operator, "versions", "FORMER").get(_short(operator), [])
    return found


def version_of(operator: Operator) -> int:
    """Return the version of an operator: 1, and one more for each former one."""
    return len(former_versions(operator)) + 1


def warning_first(operator: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel of a deprecated operator, with a DeprecationWarning at the line of the caller before each
    call."""
    said = table_of(operator, "versions", "DEPRECATED").get(_short(operator), "")
    message = f"{operator.name} is deprecated{f': {said}' if said else ''}"
    home = "" if operator.home is None else f"{operator.home.module.rpartition('.ops.')[0]}."

    def warned(*args: Any) -> Any:
        outer = getattr(_running, "operator", None)
        if outer is operator:  # arrays are wrapped, and levels of transforms entered, by calls of the same operator
            return kernel(*args)
        warnings.warn(message, DeprecationWarning, stacklevel=_level_of_the_caller(home))
        try:
            _running.operator = operator
            return kernel(*args)
        finally:
            _running.operator = outer

    return warned


def _level_of_the_caller(home: str) -> int:
    """Return how far out the first frame is that is none of the library's, or of the package that declares."""
    level, frame = 2, sys._getframe(2)
    inner = (*_ROOTS, home) if home else _ROOTS
    while frame.f_back is not None and f"{frame.f_globals.get('__name__', '')}.".startswith(inner):
        level, frame = level + 1, frame.f_back
    return level


def _short(operator: Operator) -> str:
    return operator.name.partition("::")[2]
