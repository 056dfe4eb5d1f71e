"""CuPy's ufuncs with its own loop tables: the loop is chosen as CuPy chooses it, and NumPy computes in its dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from .arrays import refuse_numpy, to_device, to_host
from .loops import Loop, cast, first_fitting
from .memory import Host

_KINDS = "biufcV"
# What `atomicAdd` and its kin take: CuPy's `ufunc.at` refuses the rest.
_ATOMIC = frozenset(map(np.dtype, ("int32", "uint32", "uint64", "float32", "float64")))
_SCATTERED = {"add": _ATOMIC | {np.dtype("float16")}, "subtract": _ATOMIC, "maximum": _ATOMIC, "minimum": _ATOMIC}
# How CuPy divides floats: where NumPy and PyTorch take `fmod`, it rounds the quotient, whatever that is.
_OF_FLOATS: dict[str, Callable[..., Any]] = {
    "remainder": lambda x, y: x - np.floor(x / y) * y,
    "floor_divide": lambda x, y: np.floor(x / y),
}


class UFunc:
    """One ufunc. Raises TypeError where CuPy has no loop for the dtypes, or takes no such operand or keyword."""

    def __init__(self, name: str, own: Any, compute: Callable[..., Any]) -> None:
        self.name = self.__name__ = name
        self.nin, self.nout, self.types = own.nin, own.nout, own.types
        self._compute = compute
        self._loops = own._ops.ops
        self._loops_by_result = (own._out_ops or own._ops).ops
        self._casting = own._default_casting
        self._chosen: dict[Any, Loop] = {}

    def __call__(
        self, *operands: Any, out: Any = None, dtype: Any = None, casting: str | None = None, **unknown: Any
    ) -> Any:
        if unknown:
            raise TypeError(f"Wrong arguments {unknown}")
        if not self.nin <= len(operands) <= self.nin + self.nout:
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        given, outs = operands[: self.nin], operands[self.nin :] or (out if isinstance(out, tuple) else (out,))
        for each in given:
            if not isinstance(each, (cupy.ndarray, bool, int, float, complex, np.generic)):
                raise TypeError(f"Unsupported type {type(each)}")
        refuse_numpy(outs)
        loop = self._loop(given) if dtype is None else self._loop_of_result(np.dtype(dtype))
        if loop.error_func is not None:
            loop.error_func()
        return self._store(self._results(given, loop), outs, casting or self._casting)

    def _results(self, given: Sequence[Any], loop: Loop) -> list[Host]:
        operands = [cast(to_host(each), to) for each, to in zip(given, loop.in_types, strict=True)]
        with np.errstate(all="ignore"):
            compute = _OF_FLOATS.get(self.name, self._compute) if loop.in_types[0].kind == "f" else self._compute
            found = compute(*operands)
            each = found if isinstance(found, tuple) else (found,)
            # CuPy's results are row-major, whatever the operands are.
            return [
                np.asarray(np.asarray(one).astype(to), order="C") for one, to in zip(each, loop.out_types, strict=True)
            ]

    def _store(self, results: Sequence[Host], outs: Sequence[Any], casting: str) -> Any:
        stored = []
        for result, out in zip(results, (*outs, *(None,) * len(results)), strict=False):
            if out is None:
                stored.append(to_device(result))
                continue
            if not np.can_cast(result.dtype, out.dtype, casting):
                raise TypeError(f"output (typecode {result.dtype.char!r}) could not be coerced under {casting!r}")
            if np.broadcast_shapes(out.shape, result.shape) != out.shape:
                raise ValueError(f"Out shape is mismatched: {out.shape} and {result.shape}")
            to_host(out)[...] = cast(result, out.dtype)
            stored.append(out)
        return stored[0] if len(stored) == 1 else tuple(stored)

    def _loop(self, given: Sequence[Any]) -> Loop:
        """The first loop that all operands can be cast to; Python's numbers are weak beside arrays of their kind."""
        dtypes = tuple([_dtype_of(each) for each in given])
        weak = tuple([type(each) if type(each) in (int, float, complex) else None for each in given])
        arrays = [_KINDS.index(d.kind) // 2 for d, w, each in zip(dtypes, weak, given, strict=True) if _is_array(each)]
        scalars = [_KINDS.index(d.kind) // 2 for d, each in zip(dtypes, given, strict=True) if not _is_array(each)]
        if not arrays or not scalars or max(arrays) < max(scalars):
            weak = (None,) * len(given)
        loop = self._chosen.get((dtypes, weak))
        if loop is None:
            loop = self._chosen[dtypes, weak] = first_fitting(self._loops, dtypes, weak)
        if loop is None:
            raise TypeError(f"Wrong type ({dtypes}) of arguments for cupy_{self.name}")
        return loop

    def _loop_of_result(self, dtype: np.dtype[Any]) -> Loop:
        for loop in self._loops_by_result:
            if all(each == dtype for each in loop.out_types):
                return loop
        raise TypeError(f"Wrong type ({dtype}) of arguments for cupy_{self.name}")

    def at(self, array: Any, indices: Any, values: Any = None) -> None:
        """`ufunc.at`, for the few ufuncs and dtypes that CuPy has atomic operations for."""
        known = _SCATTERED.get(self.name)
        if known is None:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        if array.dtype not in known:
            raise TypeError(f"scatter_{self.name} only supports {', '.join(sorted(map(str, known)))} as data type")
        self._compute.at(to_host(array), array.host_index(indices), to_host(values))  # type: ignore[attr-defined]

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """`ufunc.reduce`, of `add` and `multiply` alone."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        return (array.sum if self.name == "add" else array.prod)(axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """`ufunc.accumulate`, of `add` and `multiply` alone."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        return (array.cumsum if self.name == "add" else array.cumprod)(axis, dtype, out)


def _is_array(value: Any) -> bool:
    return isinstance(value, cupy.ndarray)


def _dtype_of(value: Any) -> np.dtype[Any]:
    return value.dtype if hasattr(value, "dtype") else np.dtype(type(value))
