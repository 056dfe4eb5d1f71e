"""NumPy's functions that operators compute: their arguments, in NumPy's order, and the kinds of values that they take.

NumPy computes calls with other arguments, and calls with values of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

import opwright
from opwright.array_api import manipulation, products, searching, statistics
from opwright.methods.numpy_ufuncs import Unmapped, as_operand
from opwright_core.arrays.dtypes import COMPLEX, INEXACT, bool_, float64
from opwright_core.arrays.nested_lists import array_of
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["by_operators"]

# What a kind does: it returns a value as operators take it, or raises Unmapped.
Kind: TypeAlias = Callable[[Any], Any]


def _array(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return wrap(value)
    raise Unmapped


def _ordered(value: Any) -> Tensor:
    found = _array(value)
    if found.dtype in COMPLEX:  # NumPy orders complex numbers by their real parts, then the others
        raise Unmapped
    return found


def _inexact(value: Any) -> Tensor:
    found = _array(value)
    return found if found.dtype in INEXACT else found.to(float64)


def _arrays(value: Any) -> list[Tensor]:
    if not isinstance(value, (list, tuple, Tensor)):
        raise Unmapped
    return [each if isinstance(each, Tensor) else wrap(array_of(each)) for each in value]


def _operand(value: Any) -> Any:
    return value if type(value) in (int, float, complex) else _array(value)


def _limit(value: Any) -> Any:
    return None if value is None else _operand(value)


def _is(*kinds: type) -> Kind:
    def check(value: Any) -> Any:
        if type(value) not in kinds:
            raise Unmapped
        return value

    return check


def _places(value: Any) -> Any:
    found = _array(array_of(value) if isinstance(value, (int, list, tuple)) else value)
    if found.dtype.kind not in "iu" or found.dtype == opwright.uint64:
        raise Unmapped
    return found


def _several(*others: type) -> Kind:
    """Return the check for numbers in a list or tuple, or for values of `others`."""

    def check(value: Any) -> Any:
        if type(value) in others:
            return value
        if type(value) not in (list, tuple) or any(type(each) is not int for each in value):
            raise Unmapped
        return tuple(value)

    return check


def _sizes(value: Any) -> tuple[int, ...]:
    return (value,) if type(value) is int else tuple(_are_axes(value))


def _pairs(value: Any) -> Any:
    if type(value) in (list, tuple):
        return tuple(map(_sizes, value))
    return _is_int(value)


_is_int, _is_axis, _is_flag, _is_unset = _is(int), _is(int, type(None)), _is(bool, np.bool_), _is(type(None))
_is_number, _are_axes = _is(int, float), _several(int, type(None))


def _promoted(*values: Any, beside: Tensor | None = None) -> list[Tensor]:
    """Return arrays and numbers as Tensors of the dtype that NumPy promotes them to, on the device of one of them."""
    dtype = np.result_type(*[each.dtype if isinstance(each, Tensor) else each for each in values])
    first = next((each for each in values if isinstance(each, Tensor)), beside)
    return [as_operand(each, dtype, first) for each in values]


def _along(function: Callable[..., Tensor], a: Tensor, axis: int | None = None, **options: Any) -> Tensor:
    """Return what a function gives along an axis: of the flattened array if `axis` is None."""
    values, axis = (opwright.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    if values.ndim == 0:
        raise Unmapped
    return function(values, axis=axis, **options)


def _sort(a: Tensor, axis: int | None = -1) -> Tensor:
    return _along(searching.sort, a, axis)


def _deviation(function: Callable[..., Tensor], a: Tensor, *, ddof: float = 0, **options: Any) -> Tensor:
    return function(a, **({"correction": ddof} | options))


def _concatenate(arrays: list[Tensor], axis: int | None = 0) -> Tensor:
    return manipulation.concat(_promoted(*arrays), axis=axis)


def _stack(arrays: list[Tensor], axis: int = 0) -> Tensor:
    return manipulation.stack(_promoted(*arrays), axis=axis)


def _where(condition: Tensor, x: Any, y: Any) -> Tensor:
    holds = condition if condition.dtype == bool_ else condition != 0
    return opwright.where(holds, *_promoted(x, y, beside=condition))


def _clip(a: Tensor, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    lower, upper = (min if a_min is None else a_min), (max if a_max is None else a_max)
    found, *limits = _promoted(a, *[each for each in (lower, upper) if each is not None])
    if lower is not None:
        found = opwright.maximum(found, limits.pop(0))
    return opwright.minimum(found, limits.pop()) if limits else found.clone() if found is a else found


def _squeeze(a: Tensor, axis: Any = None) -> Tensor:
    return opwright.squeeze(a) if axis is None else manipulation.squeeze(a, axis)


def _roll(a: Tensor, shift: Any, axis: Any = None) -> Tensor:
    if axis is not None and type(shift) is not type(axis):  # NumPy broadcasts them
        raise Unmapped
    return manipulation.roll(a, shift, axis=axis)


def _moveaxis(a: Tensor, source: tuple[int, ...], destination: tuple[int, ...]) -> Tensor:
    return manipulation.moveaxis(a, source, destination)


def _tile(a: Tensor, reps: tuple[int, ...]) -> Tensor:
    return manipulation.tile(a, reps)


def _repeat(a: Tensor, repeats: Tensor, axis: int | None = None) -> Tensor:
    return _along(lambda values, axis: manipulation.repeat(values, repeats, axis=axis), a, axis)


def _take(a: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    return _along(lambda values, axis: manipulation.take(values, indices, axis=axis), a, axis)


def _tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    return products.tensordot(*_promoted(a, b), axes=axes)


def _diff(a: Tensor, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    return statistics.diff(a, axis=axis, n=n, prepend=prepend, append=append)


def _triangle(function: Callable[..., Tensor], m: Tensor, k: int = 0) -> Tensor:
    if m.ndim < 2:  # NumPy makes a matrix of rows
        raise Unmapped
    return function(m, k)


_OUT = {"out": _is_unset}
_TYPED = {"dtype": _is_unset, **_OUT}
_REDUCTION = {"a": _array, "axis": _are_axes, **_TYPED, "keepdims": _is_flag}
_DEVIATION = {
    "a": _inexact, "axis": _are_axes, **_TYPED, "ddof": _is_number, "keepdims": _is_flag, "correction": _is_number
}  # fmt: skip
_EXTREME = {"a": _ordered, "axis": _are_axes, **_OUT, "keepdims": _is_flag}
_PLACE = {"a": _ordered, "axis": _is_axis, **_OUT, "keepdims": _is_flag}
_TEST = {"a": _array, "axis": _are_axes, **_OUT, "keepdims": _is_flag}
_RUNNING = {"a": _array, "axis": _is_axis, **_TYPED}
_FUNCTIONS: Final[dict[str, tuple[Callable[..., Tensor], dict[str, Kind]]]] = {
    "sum": (statistics.sum, _REDUCTION),
    "prod": (statistics.prod, _REDUCTION),
    "mean": (statistics.mean, {**_REDUCTION, "a": _inexact}),
    "std": (partial(_deviation, statistics.std), _DEVIATION),
    "var": (partial(_deviation, statistics.var), _DEVIATION),
    **dict.fromkeys(("max", "amax"), (statistics.max, _EXTREME)),
    **dict.fromkeys(("min", "amin"), (statistics.min, _EXTREME)),
    "any": (statistics.any, _TEST),
    "all": (statistics.all, _TEST),
    "argmax": (searching.argmax, _PLACE),
    "argmin": (searching.argmin, _PLACE),
    "cumsum": (partial(_along, statistics.cumulative_sum), _RUNNING),
    "cumprod": (partial(_along, statistics.cumulative_prod), _RUNNING),
    "sort": (_sort, {"a": _ordered, "axis": _is_axis, "kind": _is_unset, "order": _is_unset}),
    "diff": (_diff, {"a": _array, "n": _is_int, "axis": _is_int, "prepend": _array, "append": _array}),
    "concatenate": (_concatenate, {"arrays": _arrays, "axis": _is_axis, **_OUT}),
    "stack": (_stack, {"arrays": _arrays, "axis": _is_int, **_OUT}),
    "where": (_where, {"condition": _array, "x": _operand, "y": _operand}),
    "clip": (
        _clip,
        {"a": _ordered, "a_min": _limit, "a_max": _limit, **_OUT, "min": _limit, "max": _limit},
    ),
    "flip": (manipulation.flip, {"m": _array, "axis": _are_axes}),
    "roll": (_roll, {"a": _array, "shift": _are_axes, "axis": _are_axes}),
    "reshape": (manipulation.reshape, {"a": _array, "shape": _sizes}),
    "expand_dims": (manipulation.expand_dims, {"a": _array, "axis": _sizes}),
    "squeeze": (_squeeze, {"a": _array, "axis": _are_axes}),
    "moveaxis": (_moveaxis, {"a": _array, "source": _sizes, "destination": _sizes}),
    "tile": (_tile, {"A": _array, "reps": _sizes}),
    "repeat": (_repeat, {"a": _array, "repeats": _places, "axis": _is_axis}),
    "broadcast_to": (manipulation.broadcast_to, {"array": _array, "shape": _sizes}),
    "take": (_take, {"a": _array, "indices": _places, "axis": _is_axis, **_OUT}),
    "tensordot": (_tensordot, {"a": _array, "b": _array, "axes": _pairs}),
    "tril": (partial(_triangle, opwright.tril), {"m": _array, "k": _is_int}),
    "triu": (partial(_triangle, opwright.triu), {"m": _array, "k": _is_int}),
}


def by_operators(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what `np.NAME(*args, **kwargs)` is by operators. Raises Unmapped for calls that are not in the table."""
    if name not in _FUNCTIONS:
        raise Unmapped
    function, kinds = _FUNCTIONS[name]
    given = dict(zip(kinds, args, strict=False)) | kwargs
    if len(args) > len(kinds) or not given.keys() <= kinds.keys():
        raise Unmapped
    converted = {each: kinds[each](value) for each, value in given.items()}
    operand = converted.pop(next(iter(kinds)))
    return function(operand, **{each: value for each, value in converted.items() if kinds[each] is not _is_unset})
