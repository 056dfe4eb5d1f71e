"""Shims of kernels that are one ufunc: for tensors whose arrays are row-major, and for plain arrays.

They leave to the general function what they do not know, which words the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy import asarray as asarray
from numpy import ndarray as ndarray

from opwright_core.arrays.dtypes import DType, plain_dtypes, quiet
from opwright_core.keys import DENSE_CPU
from opwright_core.tensors.tensor import new_tensor as new_tensor
from opwright_core.tensors.wrapping import wrap
from opwright_core.unrolling import Definition

__all__ = ["inplace_shim", "ufunc_shim", "ufunc_shims"]

Function = Callable[..., Any]
_ALL: Final = plain_dtypes("biufc")
REFUSED: Final = (TypeError, ValueError, OverflowError)
# The first tensor is T, another U, a number N, one that must be 1 is 1. The result is a dense tensor (D), written to
# the first (I), or a plain array (A) as the operands are; K is set where not every plain dtype fits. Arrays that share
# memory have one owner, or one owns the other's: those that are written must have neither.
_SHIM: Final = Definition(
    """\
def shim({*: x#, }):
    try:
        {TU} a# = x#{DI: .array}
        {N} a# = numbers[a0.dtype, x#] if type(x#) is float or type(x#) is int else None
        if (
            {U} a#.dtype is a0.dtype and {I: a#.base is None and a0.base is None and a# is not a0 and}
            {1} x# == 1 and x# is not True and
            {N} a# is not None and
            {K} a0.dtype in dtypes and
            True
        ):
            {I} ufunc({TUN: a#, }out=a0)
            {I} return x0
            {A} result = ufunc({TUN: a#, })
            {A} return result if type(result) is ndarray else asarray(result)
            {D} made = new_tensor()
            {D} made.array = ufunc({TUN: a#, })
            {D} made.keys = keys
            {D} made.edge = None
            {D} made.extra = None
            {D} return made
    except REFUSED:
        pass
    return general({*: x#, })
""",
    globals(),
)


def ufunc_shims(general: Function, ufunc: np.ufunc, letters: str, kinds: str) -> tuple[Function, Function]:
    """Return the shims for dense tensors and for plain arrays, of dtypes of NumPy's `kinds`.

    `letters` has one for each argument: a tensor (`T`), an int or a float (`N`), a number that must be 1 (`1`).
    """
    dtypes = _kept(ufunc, kinds)

    def otherwise(*args: Any) -> Any:
        return general(
            *[wrap(each) if letter == "T" else each for each, letter in zip(args, letters, strict=True)]
        ).array

    return _shim("D", general, ufunc, letters, dtypes), _shim("A", otherwise, ufunc, letters, dtypes)


def ufunc_shim(general: Function, ufunc: Function, letters: str, kinds: str, keys: int = DENSE_CPU) -> Function:
    """Return the shim for dense tensors, whose results have these keys."""
    return _shim("D", general, ufunc, letters, plain_dtypes(kinds), keys)


def inplace_shim(general: Function, ufunc: np.ufunc, letters: str, kinds: str) -> Function:
    """Return the shim for dense tensors of what writes to the first."""
    return _shim("I", general, ufunc, letters, _kept(ufunc, kinds))


def _shim(
    way: str, general: Function, ufunc: Function, letters: str, dtypes: frozenset[DType], keys: int = DENSE_CPU
) -> Function:
    # (to look whether a dtype is one of all takes 4 % of a small call; numbers look at it themselves)
    is_any = "N" in letters or (way == "D" and dtypes == _ALL)
    return _SHIM.make(
        letters.replace("TT", "TU"), way if is_any else f"{way}K",
        general=general, ufunc=ufunc, keys=keys, dtypes=dtypes, numbers=_Numbers(ufunc, dtypes),
    )  # fmt: skip


def _kept(ufunc: np.ufunc, kinds: str) -> frozenset[DType]:
    """Return the dtypes of these kinds that a ufunc has a loop for, whose result is of that dtype, or bool."""
    loops = set(ufunc.types)
    return frozenset(
        dtype
        for dtype in plain_dtypes(kinds)
        if any(f"{dtype.char * ufunc.nin}->{result}" in loops for result in (dtype.char, "?"))
    )


class _Numbers(dict[tuple[DType, Any], Any]):
    """Numbers as arrays of a dtype, which a ufunc takes in half the time, by both; None for what is left to the general
    function, and no zero, whose sign no key has. CuPy's ufuncs take numbers."""

    def __init__(self, ufunc: Function, dtypes: frozenset[DType]) -> None:
        self._dtypes = dtypes
        self._is_numpy = isinstance(ufunc, np.ufunc)

    def __missing__(self, key: tuple[DType, Any]) -> Any:
        dtype, number = key
        if dtype not in self._dtypes or not self._is_numpy:
            return number if dtype in self._dtypes else None
        made = quiet(np.asarray, number, dtype)
        if number and number == number:  # (NaN is never found again)
            if len(self) > 256:
                self.clear()
            self[key] = made
        return made
