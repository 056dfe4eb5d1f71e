"""Arrays that NumPy's functions read and return on behalf of Tensors, and Tensors that they write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from opwright.namespaces import aten
from opwright_core.arrays.dtypes import CANONICAL
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["Computation", "mapped"]


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return `value` with `function` applied to it, or to all items of lists, tuples and dictionaries."""
    if isinstance(value, dict):
        return {key: mapped(each, function) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([mapped(each, function) for each in value])
    return function(value)


def _owner(array: Any) -> Any:
    """Return the object at the end of an array's `base` chain: the owner of its memory."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


class Computation:
    """One call of NumPy on the arrays of Tensors.

    NumPy reads the memory of Tensors through read-only arrays. A result over that memory becomes a view of its Tensor.
    NumPy writes `out` to buffers, since a write to a Tensor must be counted in its version.
    """

    def __init__(self) -> None:
        self._sources: dict[int, tuple[Tensor, np.ndarray[Any, Any]]] = {}
        self._targets: dict[int, tuple[Any, Any]] = {}

    def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        refused: Exception | None = None,
    ) -> Any:
        """Return what a function of NumPy gives for arrays in the place of Tensors, and write to its `out`.

        `refused` is raised if an operator raised it before, and there are no arrays that NumPy may read.
        """
        written = options.get("out")
        try:
            given, named = mapped((args, {key: each for key, each in options.items() if key != "out"}), self.read)
            if written is not None:
                named["out"] = mapped(written, self.buffer)
        except RuntimeError:
            if refused is None:
                raise
            raise refused from None
        result = function(*given, **named)
        self.write()
        return self.result(result)

    def read(self, value: Any) -> Any:
        """Return the array of a Tensor, read-only. Raises RuntimeError if its gradient would be lost."""
        if not isinstance(value, Tensor):
            return value
        array = value.__array__().view()
        array.flags.writeable = False
        if isinstance(value.array, np.ndarray):
            self._sources[id(_owner(value.array))] = value, array
        return array

    def buffer(self, target: Any) -> Any:
        """Return the array to write to for a target: a copy of a Tensor's array, or an array itself."""
        array = np.array(target.__array__()) if isinstance(target, Tensor) else target
        self._targets[id(array)] = target, array
        return array

    def write(self) -> None:
        """Write to Tensors what NumPy wrote to their buffers."""
        for target, array in self._targets.values():
            if isinstance(target, Tensor):
                target.copy_(wrap(array))

    def result(self, value: Any) -> Any:
        """Return Tensors for arrays and numbers of NumPy, in lists and tuples also. Other values stay."""
        if isinstance(value, (list, tuple)):
            if not any(isinstance(each, (np.ndarray, np.generic)) for each in value):
                return value
            items = map(self.result, value)
            return type(value)(items) if type(value) in (list, tuple) else type(value)(*items)
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype not in CANONICAL:
            return value
        if id(value) in self._targets:
            return self._targets[id(value)][0]
        array = np.asarray(value)
        source = self._sources.get(id(_owner(array)))
        return wrap(array) if source is None else _view(*source, array)


def _view(tensor: Tensor, whole: np.ndarray[Any, Any], part: np.ndarray[Any, Any]) -> Any:
    """Return an array over a Tensor's memory as a view of the Tensor, or a copy if the Tensor has no such view."""
    size = part.itemsize
    (low, high), (start, stop) = byte_bounds(part), byte_bounds(whole)
    if part.dtype != whole.dtype or low < start or high > stop or any(s < 0 or s % size for s in part.strides):
        return wrap(part.copy())
    offset = tensor.storage_offset() + (low - start) // size
    return aten["as_strided.default"](tensor, part.shape, [step // size for step in part.strides], offset)
