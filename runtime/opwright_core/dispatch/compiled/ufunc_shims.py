"""Shims of kernels that are one ufunc: for tensors whose arrays are row-major, and for plain arrays.

A function is written for each kind of arguments, and shared by the operators of it. It leaves to the general function
what it does not know, which words the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy import ndarray

from opwright_core.arrays.dtypes import DType, plain_dtypes, quiet
from opwright_core.keys import DENSE_CPU
from opwright_core.tensors.tensor import Tensor, new_tensor
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


def inplace_shim(general: Function, ufunc: np.ufunc, letters: str, kinds: str) -> Function:
    """Return the shim for dense tensors of what writes to the first."""
    made: Function = _INPLACE[letters[:2]](_with_alpha(general, letters), ufunc, _kept(ufunc, kinds))
    return made


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
    dense: Function = _DENSE[letters[:2]](_with_alpha(general, letters), ufunc, keys, None if of_any else dtypes)
    return dense


def _with_alpha(general: Function, letters: str) -> Function:
    """Return a function that takes a third argument, which the general one gets where it has one."""
    return general if len(letters) != 2 else lambda self, other, alpha: general(self, other)


def _unary(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes | None) -> Function:
    def dense(self: Tensor) -> Any:
        array = self.array
        if dtypes is not None and array.dtype not in dtypes:
            return general(self)
        try:
            made = new_tensor()
            made.array = ufunc(array)
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        except _REFUSED:
            pass
        return general(self)

    return dense


def _binary(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes | None) -> Function:
    def dense(self: Tensor, other: Tensor, alpha: Any = 1) -> Any:
        first, second = self.array, other.array
        if (
            alpha != 1
            or alpha is True
            or second.dtype is not first.dtype
            or (dtypes is not None and first.dtype not in dtypes)
        ):
            return general(self, other, alpha)
        try:
            made = new_tensor()
            made.array = ufunc(first, second)
            made.keys = keys
            made.edge = None
            made.extra = None
            return made
        except _REFUSED:
            pass
        return general(self, other, alpha)

    return dense


class _Numbers(dict[tuple[DType, Any], Any]):
    """Numbers as arrays of a dtype, which a ufunc takes in half the time, by both; None for what is left to the general
    function, and no zero, whose sign no key has. CuPy's ufuncs take numbers."""

    def __init__(self, ufunc: Function, dtypes: _Dtypes) -> None:
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


def _number(general: Function, ufunc: Function, keys: int, dtypes: _Dtypes) -> Function:
    numbers = _Numbers(ufunc, dtypes)

    def dense(self: Tensor, other: Any, alpha: Any = 1) -> Any:
        array = self.array
        is_number = type(other) is float or type(other) is int
        if not is_number or alpha != 1 or alpha is True:
            return general(self, other, alpha)
        try:
            if (number := numbers[array.dtype, other]) is not None:
                made = new_tensor()
                made.array = ufunc(array, number)
                made.keys = keys
                made.edge = None
                made.extra = None
                return made
        except _REFUSED:
            pass
        return general(self, other, alpha)

    return dense


def _unary_inplace(general: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def dense(self: Tensor) -> Any:
        array = self.array
        if array.dtype in dtypes:
            try:
                ufunc(array, out=array)
                return self
            except _REFUSED:
                pass
        return general(self)

    return dense


def _binary_inplace(general: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def dense(self: Tensor, other: Tensor, alpha: Any = 1) -> Any:
        first, second = self.array, other.array
        dtype = first.dtype
        # (arrays that share memory have one owner, or one owns the other's)
        is_apart = first.base is None and second.base is None and first is not second
        is_plain = second.dtype is dtype and alpha == 1 and alpha is not True
        if is_apart and is_plain and dtype in dtypes:
            try:
                ufunc(first, second, out=first)
                return self
            except _REFUSED:
                pass
        return general(self, other, alpha)

    return dense


def _number_inplace(general: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    numbers = _Numbers(ufunc, dtypes)

    def dense(self: Tensor, other: Any, alpha: Any = 1) -> Any:
        array = self.array
        is_number = type(other) is float or type(other) is int
        if is_number and alpha == 1 and alpha is not True:
            try:
                if (number := numbers[array.dtype, other]) is not None:
                    ufunc(array, number, out=array)
                    return self
            except _REFUSED:
                pass
        return general(self, other, alpha)

    return dense


def _arrays(general: Function, ufunc: Function, letters: str, dtypes: _Dtypes) -> Function:
    """Return the shim for plain arrays."""

    def otherwise(*args: Any) -> Any:
        return general(
            *[wrap(each) if letter == "T" else each for each, letter in zip(args, letters, strict=False)]
        ).array

    made: Function = _ARRAYS[letters[:2]](otherwise, ufunc, dtypes)
    return made


def _unary_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any) -> Any:
        if self.dtype not in dtypes:
            return otherwise(self)
        try:
            result = ufunc(self)
            return result if type(result) is ndarray else np.asarray(result)
        except _REFUSED:
            pass
        return otherwise(self)

    return arrays


def _binary_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    def arrays(self: Any, other: Any, alpha: Any = 1) -> Any:
        dtype = self.dtype
        if alpha != 1 or alpha is True or other.dtype is not dtype or dtype not in dtypes:
            return otherwise(self, other, alpha)
        try:
            result = ufunc(self, other)
            return result if type(result) is ndarray else np.asarray(result)
        except _REFUSED:
            pass
        return otherwise(self, other, alpha)

    return arrays


def _number_of_arrays(otherwise: Function, ufunc: Function, dtypes: _Dtypes) -> Function:
    numbers = _Numbers(ufunc, dtypes)

    def arrays(self: Any, other: Any, alpha: Any = 1) -> Any:
        is_number = type(other) is float or type(other) is int
        if not is_number or alpha != 1 or alpha is True:
            return otherwise(self, other, alpha)
        try:
            if (number := numbers[self.dtype, other]) is not None:
                result = ufunc(self, number)
                return result if type(result) is ndarray else np.asarray(result)
        except _REFUSED:
            pass
        return otherwise(self, other, alpha)

    return arrays


# By the first two letters: a third argument must be 1.
_DENSE: Final[dict[str, Function]] = {"T": _unary, "TT": _binary, "TN": _number}
_INPLACE: Final[dict[str, Function]] = {"T": _unary_inplace, "TT": _binary_inplace, "TN": _number_inplace}
_ARRAYS: Final[dict[str, Function]] = {"T": _unary_of_arrays, "TT": _binary_of_arrays, "TN": _number_of_arrays}
