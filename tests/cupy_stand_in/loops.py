"""CuPy's loop tables: which loop serves operands of which dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from cupy._core import _routines_logic, _routines_math, _routines_statistics

from .memory import Host

Loop = Any
# The reductions, by the names of functions and methods; the rest NumPy computes in its own dtypes.
REDUCTIONS = {
    "sum": _routines_math.sum_auto_dtype,
    "prod": _routines_math.prod_auto_dtype,
    "max": _routines_statistics.amax,
    "min": _routines_statistics.amin,
    "amax": _routines_statistics.amax,
    "amin": _routines_statistics.amin,
    "all": _routines_logic.all,
    "any": _routines_logic.any,
}


def first_fitting(loops: Iterable[Loop], dtypes: Sequence[np.dtype[Any]], weak: Sequence[type | None]) -> Loop | None:
    """The first loop to whose dtypes all operands can be cast; `weak` is the type of one that is a Python number."""
    return next((loop for loop in loops if all(map(_fits, dtypes, weak, loop.in_types))), None)


def _fits(dtype: np.dtype[Any], weak: type | None, to: np.dtype[Any]) -> bool:
    if np.can_cast(dtype, to):
        return True
    try:
        return weak is not None and np.result_type(weak(0), to) == to
    except TypeError:
        return False


def reduced_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a reduction's result. Raises TypeError where CuPy has no loop."""
    loop = first_fitting(REDUCTIONS[name]._ops.ops, (dtype,), (None,))
    if loop is None:
        raise TypeError(f"Wrong type ({dtype}) of arguments for cupy_{name}")
    found: np.dtype[Any] = loop.out_types[0]
    return found


def cast(value: Any, to: np.dtype[Any]) -> Any:
    """An array or a number in another dtype, as C++ casts."""
    if isinstance(value, np.ndarray):
        return cast_array(value, to)
    return np.asarray(value, to)[()] if isinstance(value, int) else np.asarray(value).astype(to)[()]


def cast_array(array: Host, to: Any, **options: Any) -> Host:
    """An array in another dtype; of complex numbers the real parts where it is real."""
    if array.dtype.kind == "c" and np.dtype(to).kind not in "cb":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(to, **{"copy": False} | options)
