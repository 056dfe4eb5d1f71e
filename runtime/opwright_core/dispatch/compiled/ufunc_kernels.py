"""The kernels that are one ufunc of NumPy's, which the compiled core runs by itself (`fast/plan/ufunc_kernel.c`).

A generated package says which they are (`register.py`). The generated functions do the same, and handle what is
uncommon.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

from opwright_core.core import fast
from opwright_core.dispatch.package.kernel_rows import Row

__all__ = ["note_ufunc", "with_ufunc"]

Function = Callable[..., Any]
Ufunc = tuple[str, tuple[int, ...], str, bool]  # its name, positions of its operands, kinds of dtypes, is it in place
_noted: Final[dict[tuple[str, str], Ufunc]] = {}  # by module and name of the general kernel


def note_ufunc(module: str, general: str, ufunc: Ufunc) -> None:
    """Note what the fast shims beside a general kernel are."""
    if fast is not None:
        _noted[module, general] = ufunc


def with_ufunc(
    module: str, general: str, shims: tuple[Function, Function | None, Function | None], row: Row | None = None
) -> tuple[Function, Function | None, Function | None]:
    """Return the general, dense and arrays shims of a kernel: where they are known to be a ufunc, what handles common
    calls instead; in that of the general one, calls on half and bfloat16 that are computed in float32."""
    ufunc = None if (found := _noted.get((module, general))) is None else getattr(np, found[0], None)
    if found is None or not isinstance(ufunc, np.ufunc):
        return shims
    _, positions, kinds, is_written = found

    def with_loop(function: Function | None, takes: str, otherwise: Function | None = None) -> Any:
        if function is None:
            return None
        count = _count(function) if row is None else len(row.kinds)
        return fast.Kernel(otherwise or function, ufunc, positions, count, kinds, takes, is_written)

    whole, dense, arrays = shims
    widened = (with_loop(whole, "reduced") or whole) if {"e", "r"} & {*kinds} else whole
    dense = whole if dense is None and row is not None else dense
    planned = None if type(whole) is FunctionType or min(positions) < 0 else whole  # (numbers may overflow)
    return widened, with_loop(dense, "tensors", planned), with_loop(arrays, "arrays")


def _count(function: Function) -> int:
    """Return how many arguments a generated kernel takes."""
    code: Any = getattr(function, "__code__")  # noqa: B009 (a function has one)
    return int(code.co_argcount)
