"""Labelled arrays, those of xarray and of pandas: a result of the shape of an argument has its labels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Array
from opwright_core.inputs.kinds import Kind

__all__ = ["PANDAS", "XARRAY"]


def _like(array: Array, values: Sequence[Any]) -> Any:
    """Return the first of the caller's arrays that has the shape of a result, or None."""
    return next((each for each in values if each.shape == array.shape), None)


def _from_xarray(value: Any) -> Array:
    return value.values


def _to_xarray(array: Array, values: Sequence[Any]) -> Any:
    like = _like(array, values)
    return array if like is None else like.copy(deep=False, data=array)


def _problem_of_xarray(values: Sequence[Any]) -> str:
    first = values[0]
    for each in values:
        is_plain = type(getattr(getattr(each, "variable", each), "_data", None)) is np.ndarray  # `chunks` asks slowly
        if not is_plain and each.chunks is not None:
            return "it is in chunks: xarray.apply_ufunc(..., dask='parallelized') calls operators on each"
        if each is first:
            continue
        if each.dims != first.dims:
            return f"its dimensions are {each.dims}, and those of another argument {first.dims}: xarray.broadcast"
        if hasattr(each, "coords") and hasattr(first, "coords"):
            try:
                sys.modules["xarray"].align(first, each, join="exact", copy=False)
            except ValueError:
                return "its labels are not those of another argument: xarray.align makes them so"
    return ""


def _from_pandas(value: Any) -> Array:
    return value.to_numpy()


def _to_pandas(array: Array, values: Sequence[Any]) -> Any:
    like = _like(array, values)
    if like is None:
        return array
    if hasattr(like, "columns"):
        return like._constructor(array, index=like.index, columns=like.columns, copy=False)
    if hasattr(like, "index"):
        return like._constructor(array, index=like.index, name=like.name, copy=False)
    return sys.modules["pandas"].Index(array, name=like.name)


def _problem_of_pandas(values: Sequence[Any]) -> str:
    first = values[0]
    for each in values:
        array = each.to_numpy()
        if not isinstance(array, np.ndarray) or array.dtype.kind == "O":
            return "its elements are no numbers of one dtype: to_numpy(dtype, na_value=...) makes an array of numbers"
        if each is not first and (type(each) is not type(first) or not _have_equal_labels(first, each)):
            return "its labels are not those of another argument: align makes them so"
    return ""


def _have_equal_labels(first: Any, second: Any) -> bool:
    axes, others = getattr(first, "axes", ()), getattr(second, "axes", ())
    return len(first) == len(second) and all(map(lambda one, other: one.equals(other), axes, others))


XARRAY: Final = Kind("xarray", _from_xarray, _to_xarray, problem=_problem_of_xarray)
PANDAS: Final = Kind("pandas", _from_pandas, _to_pandas, problem=_problem_of_pandas)
