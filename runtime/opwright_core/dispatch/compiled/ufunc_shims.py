"""Shims of kernels that are one ufunc: for tensors whose arrays are row-major, and for plain arrays.

A function is written for each kind of arguments, and shared by the operators of it. It leaves to the general function
what it does not know, which words the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy import ndarray

from opwright_core.arrays.dtypes import DType, plain_dtypes
from opwright_core.keys import DENSE_CPU
from opwright_core.tensors.tensor import Tensor
from opwright_core.tensors.wrapping import wrap

__all__ = ["ufunc_shim", "ufunc_shims"]

Function = Callable[..., Any]
_Dtypes = frozenset[DType]
_ALL: Final = plain_dtypes("biufc")
_REFUSED: Final = (TypeError, ValueError, OverflowError)


def ufunc_shims(general: Function, ufunc: np.ufunc, letters: str, kinds: str) -> tuple[Function, Function]:
    """Return the shims for dense tensors and for plain arrays, of dtypes of NumPy's `kinds`.

    `letters` has one for each argument: a tensor (`T`), an int or a float (`N`), a number that must be 1 (`1`).
    """
    dtypes = _kept(ufunc, kinds)
    return _dense(general, ufunc, letters, dtypes, DENSE_CPU), _arrays(general, ufunc, letters, dtypes)


def ufunc_shim(general: Function, ufunc: Function, letters: str, kinds: str, keys: int = DENSE_CPU) -> Function:
    """Return the shim for dense tensors, whose results have these keys."""
    return _dense(general, ufunc, letters, plain_dtypes(kinds), keys)


def _kept(ufunc: np.ufunc, kinds: str) -> _Dtypes:
    """Return the dtypes of these kinds that a ufunc has a loop for, whose result is of that dtype, or bool."""
    loops = set(ufunc.types)
    return frozenset(
        dtype
        for dtype in plain_dtypes(kinds)
        if any(f"{dtype.char * ufunc.nin}->{result}" in loops for result in (dtype.char, "?"))
    )


def _dense(general: Function, ufunc: Function, letters: str, dtypes: _Dtypes, keys: int) -> Function:
    # (to look whether a dtype is one of all takes 4 % of a small call)
    of_any = dtypes == _ALL and "N" not in letters
    dense: Function = _DENSE[letters](general, ufunc, keys, None if of_any else dtypes)
    return dense


def _unary(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes | None) -> Function:
    def dense(self: Tensor) -> Any:
        array = self.array
        if dtypes is not None and array.dtype not in dtypes:
            return general(self)
        try:
            result = ufunc(array)
        except _REFUSED:
            pass
        else:
            made = Tensor()
            made.array = result
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        return general(self)

    return dense


def _binary(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes | None) -> Function:
    def dense(self: Tensor, other: Tensor) -> Any:
        first, second = self.array, other.array
        if second.dtype is not first.dtype or (dtypes is not None and first.dtype not in dtypes):
            return general(self, other)
        try:
            result = ufunc(first, second)
        except _REFUSED:
            pass
        else:
            made = Tensor()
            made.array = result
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        return general(self, other)

    return dense


def _binary_if_one(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes | None) -> Function:
    def dense(self: Tensor, other: Tensor, alpha: Any) -> Any:
        first, second = self.array, other.array
        if (
            alpha != 1
            or alpha is True
            or second.dtype is not first.dtype
            or (dtypes is not None and first.dtype not in dtypes)
        ):
            return general(self, other, alpha)
        try:
            result = ufunc(first, second)
        except _REFUSED:
            pass
        else:
            made = Tensor()
            made.array = result
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        return general(self, other, alpha)

    return dense


def _number(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes) -> Function:
    def dense(self: Tensor, other: Any) -> Any:
        array = self.array
        if array.dtype not in dtypes or (type(other) is not float and type(other) is not int):
            return general(self, other)
        try:
            result = ufunc(array, other)
        except _REFUSED:
            pass
        else:
            made = Tensor()
            made.array = result
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        return general(self, other)

    return dense


def _number_if_one(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes) -> Function:
    return _if_one(_number(_declined, ufunc, keys, dtypes), general)


def _declined(*args: Any) -> Any:
    return NotImplemented


def _if_one(of_two: Function, general: Function) -> Function:
    """Return a function of three arguments that calls one of two where the third is 1. It may decline."""

    def of_three(self: Any, other: Any, alpha: Any) -> Any:
        found = NotImplemented if alpha != 1 or alpha is True else of_two(self, other)
        return general(self, other, alpha) if found is NotImplemented else found

    return of_three


def _arrays(general: Function, ufunc: Function, letters: str, dtypes: _Dtypes) -> Function:
    """Return the shim for plain arrays."""

    def otherwise(*args: Any) -> Any:
        return general(
            *[wrap(each) if letter == "T" else each for each, letter in zip(args, letters, strict=True)]
        ).array

    if letters == "TN1":
        return _if_one(_number_of_arrays(_declined, ufunc, dtypes), otherwise)
    made: Function = _ARRAYS[letters](otherwise, ufunc, dtypes)
    return made


def _unary_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any) -> Any:
        if self.dtype not in dtypes:
            return otherwise(self)
        try:
            result = ufunc(self)
        except _REFUSED:
            pass
        else:
            return result if type(result) is ndarray else np.asarray(result)
        return otherwise(self)

    return arrays


def _binary_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any, other: Any) -> Any:
        dtype = self.dtype
        if other.dtype is not dtype or dtype not in dtypes:
            return otherwise(self, other)
        try:
            result = ufunc(self, other)
        except _REFUSED:
            pass
        else:
            return result if type(result) is ndarray else np.asarray(result)
        return otherwise(self, other)

    return arrays


def _binary_of_arrays_if_one(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any, other: Any, alpha: Any) -> Any:
        dtype = self.dtype
        if alpha != 1 or alpha is True or other.dtype is not dtype or dtype not in dtypes:
            return otherwise(self, other, alpha)
        try:
            result = ufunc(self, other)
        except _REFUSED:
            pass
        else:
            return result if type(result) is ndarray else np.asarray(result)
        return otherwise(self, other, alpha)

    return arrays


def _number_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any, other: Any) -> Any:
        if self.dtype not in dtypes or (type(other) is not float and type(other) is not int):
            return otherwise(self, other)
        try:
            result = ufunc(self, other)
        except _REFUSED:
            pass
        else:
            return result if type(result) is ndarray else np.asarray(result)
        return otherwise(self, other)

    return arrays


_DENSE: Final[dict[str, Function]] = {
    "T": _unary,
    "TT": _binary,
    "TT1": _binary_if_one,
    "TN": _number,
    "TN1": _number_if_one,
}
_ARRAYS: Final[dict[str, Function]] = {
    "T": _unary_of_arrays,
    "TT": _binary_of_arrays,
    "TT1": _binary_of_arrays_if_one,
    "TN": _number_of_arrays,
}
