"""Kernels in modules of tvm-ffi: functions that take tensors by DLPack, and write into those that are given last."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from opwright.foreign_kernels.sources import ArrayShim, Compute, Source, imported
from opwright_core.arrays.dtypes import DType
from opwright_core.native_kernels.truncated_files import check_whole

__all__ = ["TvmFunction"]


class TvmFunction(Source):
    """A function of a tvm-ffi module.

    `library` is the path of a shared library, below the package or the folder that it stands in; or a module of Python,
    which loads its own: the function is its attribute, or registered as `MODULE.FUNCTION`.
    """

    language = "tvm-ffi"
    how = 1

    def __init__(self, folder: str, library: str, name: str) -> None:
        super().__init__()
        self._package = Path(folder).parent
        self._library = library
        self._name = name
        self._function: Any = None

    def compute(self, shim: ArrayShim, dtype: DType) -> tuple[Compute, tuple[int, int, int]]:
        function = self._function
        arrays = [position for position, each in enumerate(shim.arguments) if each.is_array]

        def compute(values: Sequence[Any], results: Sequence[Any]) -> None:
            given = list(values)
            for position in arrays:
                array = given[position]
                if array is not None and not array.flags.writeable:  # (DLPack passes on what may be written to alone)
                    given[position] = _lent(array)
            function(*given, *results)

        return compute, self._addresses()

    def error(self, operator: str, status: int) -> Exception:
        """Return the error that the function has raised, which tvm-ffi keeps for the thread."""
        import tvm_ffi

        handle = ctypes.c_void_p()
        _library().TVMFFIErrorMoveFromRaised(ctypes.byref(handle))
        if not handle.value:
            return RuntimeError(f"{operator}: {self._name} of {self._library} returned {status}")
        cell = _ErrorCell.from_address(handle.value + _HEADER)
        kind, message = (ctypes.string_at(each.data, each.size).decode("utf-8", "replace") for each in cell.parts)
        _library().TVMFFIObjectDecRef(handle)
        known = tvm_ffi.core.ERROR_NAME_TO_TYPE.get(kind, RuntimeError)
        made: Exception = known(f"{operator}: {message}")
        return made

    def _addresses(self) -> tuple[int, int, int]:
        """Return where the compiled core finds the function; zeros for one of Python, registered or not: to that a
        tensor has to be an object, since tvm-ffi's Python reads through views as if they were."""
        address = _address(self._function)
        if address in (0, _address_of_python()):
            return 0, 0, 0
        release = ctypes.cast(_library().TVMFFIObjectDecRef, ctypes.c_void_p).value or 0
        return address, self._function.__chandle__(), release

    def _find(self) -> str:
        if find_spec("tvm_ffi") is None:
            return "tvm_ffi is not installed: `pip install apache-tvm-ffi`"
        is_file = "/" in self._library or self._library.endswith((".so", ".dylib"))
        return self._find_in_file() if is_file else self._find_named()

    def _find_in_file(self) -> str:
        import tvm_ffi

        places = [folder / self._library for folder in (self._package, self._package.parent)]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return f"there is no file {self._library} in {self._package}, or beside it"
        try:
            check_whole(path)
            module = tvm_ffi.load_module(path)
        except Exception as error:
            return f"{path} cannot be loaded ({error})"
        self._function = module.get_function(self._name) if module.implements_function(self._name) else None
        return "" if self._function is not None else f"{path} has no function {self._name!r}"

    def _find_named(self) -> str:
        import tvm_ffi

        module, problem = imported(self._library, "tvm_ffi", "apache-tvm-ffi")
        if problem:
            return problem
        name = f"{self._library}.{self._name}"
        self._function = getattr(module, self._name, None) or tvm_ffi.get_global_func(name, allow_missing=True)
        return "" if self._function is not None else f"there is no function {name}"


_HEADER: Final = 24  # bytes of an object before its own: the count of references, the type, what frees it


class _Bytes(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


class _ErrorCell(ctypes.Structure):
    """The kind and the message of an error."""

    _fields_ = (("parts", _Bytes * 2),)


def _address(function: Any) -> int:
    """Return the address that a function of tvm-ffi is called at, 0 for another function."""
    if not hasattr(function, "__chandle__"):
        return 0
    return ctypes.c_void_p.from_address(function.__chandle__() + _HEADER).value or 0


@cache
def _address_of_python() -> int:
    """Return the address that all functions written in Python are called at."""
    import tvm_ffi

    return _address(tvm_ffi.convert(_address))


@cache
def _library() -> ctypes.CDLL:
    """Return tvm-ffi's library, which is loaded already."""
    import tvm_ffi

    return ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())


def _lent(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of the same memory that says that it may be written to: kernels read what is an operand."""
    described = dict(array.__array_interface__)
    described["data"] = (described["data"][0], False)
    return np.asarray(_Described(array, described))


class _Described:
    """The memory of an array, described anew."""

    def __init__(self, array: Any, described: Any) -> None:
        self.array = array  # which keeps the memory alive
        self.__array_interface__ = described
