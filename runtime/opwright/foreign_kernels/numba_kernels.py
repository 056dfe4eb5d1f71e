"""Kernels that Numba compiles: functions on arrays, and functions by a convention of C kernels.

Note [Functions of slots]
A function by a convention has another signature for each dtype, and Python cannot call a pointer to it without a
description. So a second function is compiled around it, `int entry(const int64_t *slots)`: it takes all values from one
block of memory, calls the first, and gives its status. The first is compiled by `numba.njit(cache=True)`, which keeps
it beside its file.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from opwright.foreign_kernels.sources import ArrayShim, Compute, Source, imported
from opwright_core.arrays.dtypes import DType
from opwright_core.errors import DispatchError
from opwright_core.native_kernels.arguments import NativeArgument

__all__ = ["NumbaArrays", "NumbaFunction"]

_RAISED: Final = -(1 << 31)
_TOLD: Final = {"elementwise": 0, "contiguous": 1, "strided": 2}
_CODES: Final = {"b": "q", "i": "q", "u": "Q"}  # of numbers in the kernel's dtype, by its kind
_EACH: Final = {"float": "float64", "int": "int64", "bool": "boolean"}
_Entry: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)


def _found(module: str, name: str) -> tuple[Any, str]:
    """Return a function under `numba.njit`, and what is wrong where there is none."""
    found, problem = imported(module, "numba", "numba")
    if problem:
        return None, problem
    import numba

    function = getattr(found, name)
    if hasattr(function, "py_func"):  # under `jit`, with options that were chosen for it
        return function, ""
    function = getattr(function, "__wrapped__", function)  # under `cfunc`, for one signature
    return numba.njit(function, cache=_has_file(function)), ""


def _has_file(function: Any) -> bool:
    """Whether what is compiled of a function can be kept beside its file."""
    return not function.__code__.co_filename.startswith("<")


class NumbaFunction(Source):
    """A function of a module that Numba compiles for each dtype, by a convention of C kernels."""

    language = "Numba"

    def __init__(self, module: str, name: str) -> None:
        super().__init__()
        self._path = module, name
        self._function: Any = None

    def compute(self, shim: ArrayShim, dtype: DType) -> tuple[Compute, tuple[int, int, int]]:
        kinds, code = _slots(shim, dtype)
        entry = self._entry(shim.operator, kinds, dtype)
        call, pack = _Entry(entry.address), struct.Struct(code).pack
        parameters = shim.parameters
        told = _TOLD[shim.convention]
        is_flat = not told
        counted = next(i for i, each in enumerate(parameters) if each.is_array and each.is_written)
        operator = shim.operator

        def compute(values: Sequence[Any], results: Sequence[Any]) -> None:
            given = (*values, *results)
            held: list[Any] = [entry]
            slots: list[Any] = [given[counted].size] if is_flat else []
            for argument, value in zip(parameters, given, strict=True):
                if not argument.is_array and not argument.is_list:
                    slots.extend((value.real, value.imag) if type(value) is complex else (value,))
                    continue
                slots.append(value.ctypes.data)
                if argument.is_list:
                    slots.append(len(value))
                elif told:
                    slots += _told(value, told, held)
            status = call(pack(*slots))
            if status:
                raise self.error(operator, status)

        return compute, (entry.address, 0, 0)

    def error(self, operator: str, status: int) -> Exception:
        """Return the error that a status of the function stands for."""
        name = ".".join(self._path)
        if status == _RAISED:
            told = "raised an exception: call it from Python, with arrays, to see which"
            return RuntimeError(f"{operator}: its kernel {name} {told}")
        return RuntimeError(f"{operator}: its kernel {name} returned {status}")

    def _find(self) -> str:
        self._function, problem = _found(*self._path)
        return problem

    def _entry(self, operator: str, kinds: Sequence[Any], dtype: DType) -> Any:
        """Return the compiled function of slots. Raises DispatchError where Numba does not compile."""
        import numba

        function, types = self._function, numba.types
        try:
            function.compile(tuple(kinds))
            returned = function.overloads[tuple(kinds)].signature.return_type
            unpack = _unpacker(kinds)
            raised = _RAISED
            if returned == types.none:

                def entry(slots):  # type: ignore[no-untyped-def]
                    try:
                        function(*unpack(slots))
                    except Exception:
                        return raised
                    return 0
            else:

                def entry(slots):  # type: ignore[no-untyped-def]
                    try:
                        return function(*unpack(slots))
                    except Exception:
                        return raised

            return numba.cfunc(types.int32(types.CPointer(types.int64)))(entry)
        except numba.core.errors.NumbaError as error:
            name = ".".join(self._path)
            raise DispatchError(f"{operator}: Numba does not compile {name} for {dtype}\n{error}") from None


def _told(array: Any, told: int, held: list[Any]) -> list[Any]:
    """Return what tells of an array's shape, and of its strides in elements."""
    sizes = [array.shape]
    if told == 2:
        sizes.append(tuple(step // array.itemsize for step in array.strides))
    arrays = [np.array(each, np.int64) for each in sizes]
    held += arrays
    return [array.ndim, *(each.ctypes.data for each in arrays)]


def _slots(shim: ArrayShim, dtype: DType) -> tuple[list[Any], str]:
    """Return the types of all that a function gets, and how they are packed."""
    from numba import types

    kinds: list[Any] = []
    codes = ["="]
    if shim.convention == "elementwise":
        kinds.append(types.int64)
        codes.append("q")
    for argument in shim.parameters:
        for kind, code in _kinds_of(argument, dtype, _TOLD[shim.convention]):
            kinds.append(kind)
            codes.append(code)
    return kinds, "".join(codes)


def _kinds_of(argument: NativeArgument, dtype: DType, told: int) -> list[tuple[Any, str]]:
    """Return the types that Numba knows an argument by, each with how it is packed."""
    from numba import from_dtype, types

    if argument.is_array:
        sizes = types.CPointer(types.int64)
        of_shape = [(types.int64, "q"), *[(sizes, "Q")] * told] if told else []
        return [(types.CPointer(from_dtype(argument.dtype or dtype)), "Q"), *of_shape]
    if argument.is_list:
        return [(types.CPointer(getattr(types, _EACH[argument.sort])), "Q"), (types.int64, "q")]
    if argument.sort != "scalar":
        return [(types.float64, "d")] if argument.sort == "float" else [(types.int64, "q")]
    codes = {"float32": "f4x", "float64": "d", "complex64": "ff", "complex128": "dd"}
    return [(from_dtype(dtype), codes.get(dtype.name) or _CODES[dtype.kind])]


def _unpacker(kinds: Sequence[Any]) -> Callable[..., Any]:
    """Return what takes values of these types from a block of memory, within compiled functions."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    made = types.Tuple(tuple(kinds))

    @intrinsic
    def unpack(_context, slots):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            values, place = [], 0
            for kind in kinds:
                model = context.data_model_manager[kind]
                at = builder.gep(given[0], [ir.Constant(ir.IntType(64), place)])
                stored = builder.load(builder.bitcast(at, model.get_data_type().as_pointer()))
                values.append(model.from_data(builder, stored))
                place += 2 if kind == types.complex128 else 1
            return context.make_tuple(builder, made, values)

        return made(slots), generate

    function: Callable[..., Any] = unpack
    return function


class NumbaArrays:
    """A function on arrays of a module, which Numba compiles for what it is called with."""

    def __init__(self, operator: str, module: str, name: str) -> None:
        self._operator = operator
        self._path = module, name
        self._function: Any = None
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns. Raises DispatchError where it is not there, or does not compile."""
        if self._function is None:
            found, problem = _found(*self._path)
            if problem:
                raise DispatchError(f"{self._operator} has a kernel for Numba: {problem}")
            self._function = found
        try:
            return self._function(*args)
        except Exception as error:
            if type(error).__module__ != "numba.core.errors":
                raise
            name = ".".join(self._path)
            raise DispatchError(f"{self._operator}: Numba does not compile {name}\n{error}") from None
