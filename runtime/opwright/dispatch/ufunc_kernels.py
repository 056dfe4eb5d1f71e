"""The kernels that are one ufunc of NumPy's, which the compiled core runs by itself (`runtime/fast/kernel.c`).

A generated package says which they are (`register.py`). The generated functions do the same, and serve what is
uncommon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from opwright.core import fast

__all__ = ["note_ufunc", "with_ufunc"]

Function = Callable[..., Any]
_TEXT: Final = re.compile(r"(\w+)\(([-\d, ]+)\) (\w+)")
_noted: Final[dict[tuple[str, str], str]] = {}  # by module and name of the general kernel


def note_ufunc(module: str, general: str, text: str) -> None:
    """Note what the fast shims beside a general kernel are: `add(0, 1) fc`."""
    if fast is not None:
        _noted[module, general] = text


def with_ufunc(
    module: str, general: str, dense: Function | None, arrays: Function | None
) -> tuple[Function | None, Function | None]:
    """Return the fast shims beside a general kernel: where they are known to be a ufunc, what serves common calls in
    their place."""
    found = _TEXT.fullmatch(_noted.get((module, general), ""))
    ufunc = None if found is None else getattr(np, found[1], None)
    if found is None or not isinstance(ufunc, np.ufunc):
        return dense, arrays
    places = tuple(map(int, found[2].split(", ")))

    def served(function: Function | None, is_of_arrays: bool) -> Function | None:
        if function is None:
            return None
        made: Function = fast.Kernel(function, ufunc, places, _count(function), found[3], is_of_arrays)
        return made

    return served(dense, False), served(arrays, True)


def _count(function: Function) -> int:
    """Return how many arguments a generated kernel takes."""
    code: Any = getattr(function, "__code__")  # noqa: B009 (a function has one)
    return int(code.co_argcount)
