"""C kernels of generated packages: their library, and what brings arrays into the form that a C function takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from opwright.arrays import layouts
from opwright.errors import DispatchError, LibraryMissingError
from opwright.plans.native_arguments import NativeArgument, is_in_order, share_memory
from opwright.plans.plan import INTERNAL_OVERLAP, Plan

__all__ = ["NativeKernel", "NativeLibrary", "NativeWriter"]


class NativeLibrary:
    """The library that `opwright build` made of a package's C kernels; where there is none, `problem` says so."""

    def __init__(self, package: str, folder: str, name: str, digest: str) -> None:
        self.problem = ""
        self._error: type[DispatchError] = DispatchError
        self._module: ModuleType | None = None
        path = Path(folder, f"{name}.abi3.so")
        if not path.is_file():
            self.problem = "its library has not been built: run `opwright build`"
            self._error = LibraryMissingError
            return
        loader = ExtensionFileLoader(f"{package}.{name}", str(path))
        spec = spec_from_loader(loader.name, loader)
        assert spec is not None
        try:
            module = module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            self.problem = f"its library cannot be loaded ({error}): run `opwright build`"
            return
        if module.__dict__.get("DIGEST") != digest:
            self.problem = "its library was built from other schemas: run `opwright build`, and start Python anew"
            return
        self._module = module

    def refuse(self, operator: str) -> DispatchError:
        """Return the error of a call that the library would serve, if there were one."""
        return self._error(f"{operator} has a C kernel, and {self.problem}")

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the library; without one, a function that serves no call."""
        return _serve_nothing if self._module is None else getattr(self._module, name)

    def kernel(
        self,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
        results: Sequence[str],
    ) -> NativeKernel:
        """Return a kernel that makes results: `results` are the dtypes that each always has, or ''."""
        return NativeKernel(self, name, operator, convention, dtypes, arguments, results)

    def writer(
        self, name: str, operator: str, convention: str, dtypes: Sequence[str], arguments: Sequence[str]
    ) -> NativeWriter:
        """Return a kernel that writes arguments."""
        return NativeWriter(self, name, operator, convention, dtypes, arguments)


def _serve_nothing(*_: object) -> Any:
    return NotImplemented


class _Native:
    """A C kernel. `fast` is its C shim.

    Errors: DispatchError for a library that is not there, and for a dtype that the kernel has no function for;
    OverflowError, ValueError or RuntimeError for numbers and texts that C does not hold; RuntimeError where the
    function fails.
    """

    __slots__ = ("_arguments", "_convention", "_dtypes", "_library", "_operator", "fast")

    def __init__(
        self,
        library: NativeLibrary,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
    ) -> None:
        self._library = library
        self._operator = operator
        self._convention = convention
        self._dtypes = tuple(map(np.dtype, dtypes))
        self._arguments = tuple(map(NativeArgument, arguments))
        self.fast = library.function(name)

    _hint = ""

    def _check_library(self) -> None:
        if self._library.problem:
            raise self._library.refuse(self._operator)

    def _arrays(self, given: Sequence[Any]) -> list[tuple[NativeArgument, Any]]:
        """Return the arrays that are there, each with its argument."""
        pairs = zip(self._arguments, given, strict=True)
        return [(argument, value) for argument, value in pairs if argument.is_array and value is not None]

    def _dtype_of(self, given: Sequence[Any]) -> np.dtype[Any]:
        """Return the dtype of the arrays, as the kernel lists it. Raises DispatchError."""
        first, dtype = "", None
        for argument, value in self._arrays(given):
            name, other = argument.name, value.dtype
            if argument.dtype is not None:
                if other != argument.dtype and (argument.is_written or not np.can_cast(other, argument.dtype, "safe")):
                    message = f"{name!r} is {other}, and its C kernel takes {argument.dtype} there"
                    raise DispatchError(f"{self._operator}: {message}")
            elif dtype is None or other == dtype:
                first, dtype = first or name, other
            else:
                message = f"{first!r} is {dtype} and {name!r} {other}: a C kernel takes arrays of one dtype"
                raise DispatchError(f"{self._operator}: {message}{self._hint}")
        for listed in self._dtypes:
            if listed == dtype:
                return listed
        known = ", ".join(map(str, self._dtypes))
        raise DispatchError(f"{self._operator}: not implemented for {dtype}: its C kernel takes {known}")

    def _taken(self, given: Sequence[Any], dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> list[Any]:
        """Return the arguments as C takes them, but for arrays that are written."""
        try:
            return [
                value
                if argument.is_written or (argument.is_array and value is None)
                else self._array(value, argument.dtype or dtype, shape)
                if argument.is_array
                else argument.value(value, dtype)
                for argument, value in zip(self._arguments, given, strict=True)
            ]
        except (OverflowError, RuntimeError, ValueError) as error:
            raise type(error)(f"{self._operator}: {error}") from None

    def _array(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> Any:
        """Return an operand as C takes it: itself where that is possible, else a copy."""
        if shape is not None:
            value = np.broadcast_to(value, shape)
        is_strided = self._convention == "strided"
        array = np.require(value, dtype, ["A", "E"] if is_strided else ["C", "A", "E"])
        if is_strided and any(stride % array.itemsize for stride in array.strides):
            array = array.copy()
        return array if array.dtype.num == dtype.num else array.view(dtype)  # `long long` beside `long`

    def _unserved(self, passed: Sequence[Any]) -> DispatchError:
        return DispatchError(f"{self._operator}: the C kernel does not take {_shown(passed)}")


class NativeKernel(_Native):
    """A C kernel that makes results, called with a plan for each and with operands."""

    __slots__ = ("_results",)
    _hint = ", to which `meta` casts what it takes as operands"

    def __init__(
        self,
        library: NativeLibrary,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
        results: Sequence[str],
    ) -> None:
        super().__init__(library, name, operator, convention, dtypes, arguments)
        self._results = tuple(np.dtype(dtype) if dtype else None for dtype in results)

    def __call__(self, plan: Plan | Sequence[Plan], *given: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of several: `out`, where that is an array which C may write to."""
        self._check_library()
        plans = [plan] if isinstance(plan, Plan) else plan
        dtype = self._dtype_of(given)
        passed = self._taken(given, dtype, plans[0].shape if self._convention == "elementwise" else None)
        if out is not None and self.fast(*passed, out) is not NotImplemented:
            return out
        outs = [np.empty(each.shape, own or dtype) for each, own in zip(plans, self._results, strict=True)]
        if self.fast(*passed, *outs) is NotImplemented:
            raise self._unserved(passed)
        return outs[0] if len(outs) == 1 else tuple(outs)


class NativeWriter(_Native):
    """A C kernel that writes arguments: as they lie where C can, else copies of them, whose values it puts back."""

    __slots__ = ()

    def __call__(self, *given: Any) -> None:
        """Run the C function.

        Raises RuntimeError for written arrays that overlap each other or themselves, or are of another shape than the
        others; ValueError for one that is read-only.
        """
        self._check_library()
        dtype, shape = self._known(given)
        self._check_written(given)
        written = [value for argument, value in self._arrays(given) if argument.is_written]
        passed = self._taken(given, dtype, shape)
        copied = []
        for place, (argument, value) in enumerate(zip(self._arguments, passed, strict=True)):
            if not argument.is_array or value is None:
                continue
            if argument.is_written:
                passed[place] = self._target(value, argument.dtype or dtype, written)
                if not np.may_share_memory(passed[place], value):
                    copied.append((value, passed[place]))
            elif any(np.may_share_memory(value, each) for each in written):
                passed[place] = value.copy()
        if self.fast(*passed) is NotImplemented:
            raise self._unserved(passed)
        for value, copy in copied:
            value[...] = copy

    def check(self, *given: Any) -> None:
        """Raise what a call with arrays of these dtypes and shapes would raise."""
        self._known(given)

    def _known(self, given: Sequence[Any]) -> tuple[np.dtype[Any], tuple[int, ...] | None]:
        """Return dtype and, where all arrays have one, shape."""
        dtype = self._dtype_of(given)
        if self._convention != "elementwise":
            return dtype, None
        arrays = self._arrays(given)
        shape = layouts.broadcast_shapes([value.shape for _, value in arrays])
        for argument, value in arrays:
            if argument.is_written and not layouts.same_shape(value.shape, shape):
                message = f"{argument.name!r} of shape {list(value.shape)} doesn't match the broadcast shape"
                raise RuntimeError(f"{self._operator}: {message} {list(shape)}")
        return dtype, shape

    def _check_written(self, given: Sequence[Any]) -> None:
        """Refuse arrays that nothing may be written to."""
        written = [(argument.name, value) for argument, value in self._arrays(given) if argument.is_written]
        for position, (name, value) in enumerate(written):
            if not value.flags.writeable:
                raise ValueError(f"{self._operator}: {name!r} is read-only, and the C kernel writes to it")
            if layouts.may_overlap_itself(value.shape, value.strides):
                raise RuntimeError(INTERNAL_OVERLAP)
            for other, array in written[:position]:
                if share_memory(value, array):
                    message = f"{other!r} and {name!r} share memory, and both are written to"
                    raise RuntimeError(f"{self._operator}: {message}: clone one of them")

    def _target(self, value: Any, dtype: np.dtype[Any], written: Sequence[Any]) -> Any:
        """Return a written array as C takes it: itself where that is possible, else a copy."""
        array = np.asarray(value)
        is_taken = array.flags.behaved and (
            is_in_order(array) if self._convention == "strided" else array.flags.c_contiguous
        )
        if is_taken and any(np.may_share_memory(array, each) for each in written if each is not value):
            is_taken = False  # (they lie between each other's elements)
        if not is_taken:
            copy = np.empty(array.shape, dtype)  # (`np.array` would keep a `long long`)
            copy[...] = array
            return copy
        return array if array.dtype.num == dtype.num else array.view(dtype)


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(f"{v.dtype}{list(v.shape)}" if hasattr(v, "dtype") else repr(v) for v in values)
