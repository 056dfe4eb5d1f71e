"""C kernels of generated packages: their library, and what brings operands into the form that a C function takes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from opwright.arrays.storage import new_array
from opwright.errors import DispatchError
from opwright.plans.plan import Plan

__all__ = ["NativeKernel", "NativeLibrary", "NativeLoop"]

_LARGEST = 2**63


class NativeLibrary:
    """The library that `opwright build` made of a package's C kernels; where there is none, `problem` says so."""

    def __init__(self, package: str, folder: str, name: str, digest: str) -> None:
        self.problem = ""
        self._module: ModuleType | None = None
        path = Path(folder, f"{name}.abi3.so")
        if not path.is_file():
            self.problem = "its library has not been built: run `opwright build`"
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

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the library; without one, a function that serves no call."""
        return _serve_nothing if self._module is None else getattr(self._module, name)

    def loop(self, name: str) -> NativeLoop:
        """Return the loops of an expression."""
        return NativeLoop(self.function(name))

    def kernel(
        self,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[tuple[str, str]],
        outputs: int,
    ) -> NativeKernel:
        """Return a kernel: `arguments` are names with their sorts, `array`, `float`, `int` or `bool`."""
        return NativeKernel(self, name, operator, convention, dtypes, arguments, outputs)


def _serve_nothing(*_: object) -> Any:
    return NotImplemented


class NativeLoop:
    """The loops of an expression, called with a plan, with operands and numbers. `fast` is their C shim.

    The answer is NotImplemented where there is no library, and for what no loop takes.
    """

    __slots__ = ("fast",)

    def __init__(self, fast: Callable[..., Any]) -> None:
        self.fast = fast

    def __call__(self, plan: Plan, *given: Any, out: Any = None) -> Any:
        """Return the result, laid out as the plan says, or `out` where that is an array which C may write to."""
        if out is not None and self.fast(*given, out) is not NotImplemented:
            return out
        form = plan.form
        if self.fast is _serve_nothing or type(given[0]) is not np.ndarray:
            return NotImplemented
        made = np.empty(form.shape, form.produces)
        if form.dtype is form.produces and made.strides != form.steps:
            made = new_array(form.shape, form.strides, form.dtype, made)
        return self.fast(*given, made)


class NativeKernel:
    """A C kernel, called with a plan for each result and with operands. `fast` is its C shim.

    Errors: DispatchError for a library that is not there, and for a dtype that the kernel has no function for;
    OverflowError for numbers that C does not hold; RuntimeError where the function fails.
    """

    __slots__ = ("_arguments", "_convention", "_dtypes", "_library", "_operator", "_outputs", "fast")

    def __init__(
        self,
        library: NativeLibrary,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[tuple[str, str]],
        outputs: int,
    ) -> None:
        self._library = library
        self._operator = operator
        self._convention = convention
        self._dtypes = tuple(map(np.dtype, dtypes))
        self._arguments = arguments
        self._outputs = outputs
        self.fast = library.function(name)

    def __call__(self, plan: Plan | Sequence[Plan], *given: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of several: `out`, where that is an array which C may write to."""
        if self._library.problem:
            raise DispatchError(f"{self._operator} has a C kernel, and {self._library.problem}")
        plans = [plan] if isinstance(plan, Plan) else plan
        dtype = self._dtype_of(given)
        shape = plans[0].shape if self._convention == "elementwise" else None
        passed = [
            self._array(value, dtype, shape) if sort == "array" else self._number(value, name, sort)
            for value, (name, sort) in zip(given, self._arguments, strict=True)
        ]
        if out is not None and self.fast(*passed, out) is not NotImplemented:
            return out
        outs = tuple(np.empty(each.shape, dtype) for each in plans)
        if self.fast(*passed, *outs) is NotImplemented:
            raise DispatchError(f"{self._operator}: the C kernel does not take {_shown(passed)}")
        return outs[0] if self._outputs == 1 else outs

    def _dtype_of(self, given: Sequence[Any]) -> np.dtype[Any]:
        """Return the dtype of the arrays, as the kernel lists it. Raises DispatchError."""
        (first, dtype), *others = [
            (name, value.dtype)
            for value, (name, sort) in zip(given, self._arguments, strict=True)
            if sort == "array"
        ]  # fmt: skip
        for name, other in others:
            if other != dtype:
                message = f"{first!r} is {dtype} and {name!r} {other}: a C kernel takes arrays of one dtype"
                raise DispatchError(f"{self._operator}: {message}, to which `meta` casts what it takes as operands")
        for listed in self._dtypes:
            if listed == dtype:
                return listed
        known = ", ".join(map(str, self._dtypes))
        raise DispatchError(f"{self._operator}: not implemented for {dtype}: its C kernel takes {known}")

    def _array(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> Any:
        """Return an operand as C takes it: itself where that is possible, else a copy."""
        if shape is not None:
            value = np.broadcast_to(value, shape)
        is_strided = self._convention == "strided"
        array = np.require(value, dtype, ["A", "E"] if is_strided else ["C", "A", "E"])
        if is_strided and any(stride % array.itemsize for stride in array.strides):
            array = array.copy()
        return array if array.dtype.num == dtype.num else array.view(dtype)  # `long long` beside `long`

    def _number(self, value: Any, name: str, sort: str) -> float | int:
        """Return a number as C takes it. Raises OverflowError."""
        if sort == "bool":
            return bool(value)
        if sort == "int":
            number = operator.index(value)
            if -_LARGEST <= number < _LARGEST:
                return number
            raise OverflowError(f"{self._operator}: {name!r} is {number}, which 64 bits do not hold")
        try:
            return float(value)
        except OverflowError:
            raise OverflowError(f"{self._operator}: {name!r} is larger than any float") from None


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(f"{v.dtype}{list(v.shape)}" if hasattr(v, "dtype") else repr(v) for v in values)
