"""C kernels of generated packages: their library, and what brings arrays into the form that a C function takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

import numpy as np

from opwright_core.arrays.storage import new_array
from opwright_core.core import fast
from opwright_core.errors import DispatchError, LibraryMissingError
from opwright_core.native_kernels.function_kernels import FunctionKernel, WritingKernel
from opwright_core.native_kernels.truncated_files import check_whole
from opwright_core.plans.plan import Plan

__all__ = ["SUFFIX", "KernelLibrary", "NativeKernel", "NativeLibrary", "NativeLoop", "NativeWriter"]

# Of the limited API, which a Python without the GIL ("t") does not have.
SUFFIX: Final = EXTENSION_SUFFIXES[0] if "t" in sys.abiflags else ".abi3.so"
Numbers = Callable[[Sequence[Any]], tuple[Any, ...]]  # computes the numbers of an expression from its arguments


class KernelLibrary(Protocol):
    """The functions that C kernels call, by name; `problem` says why there are none."""

    @property
    def problem(self) -> str: ...

    def refuse(self, operator: str) -> DispatchError:
        """Return the error of a call that the library would handle, if there were one."""
        ...

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function, called as C shims are."""
        ...


class NativeLibrary:
    """The library that `opwright build` made of a package's C kernels; where there is none, `problem` says so."""

    def __init__(self, package: str, folder: str, name: str, digest: str) -> None:
        self.problem = ""
        self._error: type[DispatchError] = DispatchError
        self._module: ModuleType | None = None
        path = Path(folder, f"{name}{SUFFIX}")
        if not path.is_file():
            self.problem = "its library has not been built: run `opwright build`"
            self._error = LibraryMissingError
            return
        loader = ExtensionFileLoader(f"{package}.{name}", str(path))
        spec = spec_from_loader(loader.name, loader)
        assert spec is not None
        try:
            check_whole(path)
            module = module_from_spec(spec)
            loader.exec_module(module)
        except (ImportError, OSError) as error:
            self.problem = f"its library cannot be loaded ({error}): run `opwright build`"
            return
        if module.__dict__.get("DIGEST") != digest:
            self.problem = "its library was built from other schemas: run `opwright build`, and start Python anew"
            return
        if fast is not None and hasattr(module, "take_runtime"):
            module.take_runtime(fast.runtime)
        self._module = module

    def refuse(self, operator: str) -> DispatchError:
        """Return the error of a call that the library would handle, if there were one."""
        return self._error(f"{operator} has a C kernel, and {self.problem}")

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the library; without one, a function that handles no call."""
        return _serve_nothing if self._module is None else getattr(self._module, name)

    def loop(self, name: str, operator: str = "", numbers: Numbers | None = None) -> NativeLoop:
        """Return the loops of the expression that an operator is; `numbers` computes its numbers from arguments."""
        return NativeLoop(self, name, operator, numbers)

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


class NativeLoop:
    """The loops of an expression, called with a plan, with operands and numbers. `fast` is their C shim.

    The result is NotImplemented where there is no library, and for what no loop takes.
    """

    __slots__ = ("fast", "library", "name", "numbers", "operator")

    def __init__(
        self,
        library: NativeLibrary,
        name: str,
        operator: str,
        numbers: Numbers | None,
    ) -> None:
        self.library = library
        self.name = name
        self.operator = operator
        self.numbers = numbers
        self.fast = library.function(name)

    def __call__(self, plan: Plan, *given: Any, out: Any = None) -> Any:
        """Return the result, laid out as the plan says, or `out` where that is an array which C may write to."""
        if out is not None and self.fast(*given, out) is not NotImplemented:
            return out
        spec = plan.spec
        if self.fast is _serve_nothing or type(given[0]) is not np.ndarray:
            return NotImplemented
        made = np.empty(spec.shape, spec.produces)
        if spec.dtype is spec.produces and made.strides != spec.steps:
            made = new_array(spec.shape, spec.strides, spec.dtype, made)
        return self.fast(*given, made)


class _Native(FunctionKernel):
    """A C kernel. `fast` is its C shim.

    Errors: DispatchError for a library that is not there, and for a dtype that the kernel has no function for;
    OverflowError, ValueError or RuntimeError for numbers and texts that C does not hold; RuntimeError where the
    function fails.
    """

    __slots__ = ("_library", "fast")

    def __init__(
        self,
        library: KernelLibrary,
        name: str,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
    ) -> None:
        super().__init__(operator, convention, dtypes, arguments)
        self._library = library
        self.fast = library.function(name)

    def _check_library(self) -> None:
        if self._library.problem:
            raise self._library.refuse(self._operator)

    def _array(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> Any:
        """Return an operand as C takes it: itself where that is possible, else a copy."""
        if shape is not None:
            value = np.broadcast_to(value, shape)
        is_strided = self._convention == "strided"
        array = np.require(value, dtype, ["A", "E"] if is_strided else ["C", "A", "E"])
        if is_strided and any(stride % array.itemsize for stride in array.strides):
            array = array.copy()
        return array if array.dtype.num == dtype.num else array.view(dtype)  # `long long` beside `long`

    def _no_kernel(self, passed: Sequence[Any]) -> DispatchError:
        return DispatchError(f"{self._operator}: the C kernel does not take {_shown(passed)}")


class NativeKernel(_Native):
    """A C kernel that makes results, called with a plan for each and with operands."""

    __slots__ = ("_results",)
    _hint = ", to which `meta` casts what it takes as operands"

    def __init__(
        self,
        library: KernelLibrary,
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
        plans = plan if isinstance(plan, Sequence) else [plan]
        dtype = self._dtype_of(given)
        passed = self._taken(given, dtype, plans[0].shape if self._convention == "elementwise" else None)
        if out is not None and self.fast(*passed, out) is not NotImplemented:
            return out
        outs = [np.empty(each.shape, own or dtype) for each, own in zip(plans, self._results, strict=True)]
        if self.fast(*passed, *outs) is NotImplemented:
            raise self._no_kernel(passed)
        return outs[0] if len(outs) == 1 else tuple(outs)


class NativeWriter(_Native, WritingKernel):
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
        passed, copied = self._prepared(given, dtype, shape)
        if self.fast(*passed) is NotImplemented:
            raise self._no_kernel(passed)
        for value, copy in copied:
            value[...] = copy


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(f"{v.dtype}{list(v.shape)}" if hasattr(v, "dtype") else repr(v) for v in values)
