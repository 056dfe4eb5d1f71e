"""Functions that are written elsewhere, called as C shims are: what they have in common.

Note [Shims in Python]
A shim handles calls that need no plan, as those in C do (Note [C shims] in the generator): exact arrays of one listed
dtype, of the form of the convention. For all else it returns NotImplemented. It gets the arguments by position, and
behind them an array for each result; None has the shim make it, where the result is like an operand. Nothing of a
stranger is imported before the first call.

Where the compiled core runs, an `AddressKernel` stands before the shim (`fast/call/address_kernel.c`): it handles the
same calls by the function's address, which the shim tells it with the first call of a dtype.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import DType
from opwright_core.core import fast
from opwright_core.errors import DispatchError
from opwright_core.native_kernels.arguments import NativeArgument, is_in_order
from opwright_core.native_kernels.libraries import NativeKernel, NativeWriter

__all__ = ["ArrayShim", "Source", "imported"]

Compute = Callable[[Sequence[Any], Sequence[Any]], None]  # of arguments and results, as the convention has them
_CONVENTIONS = ("elementwise", "contiguous", "strided")
_LETTERS = {"float": "f", "int": "i", "bool": "b", "scalar": "s"}


class Source:
    """A function that is written elsewhere: found at the first call; where it is not there, `problem` says so.

    `how` is the number of the way in which the compiled core calls it.
    """

    language = ""
    how = 0

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._problem: str | None = None
        self._shim: Any = None

    @property
    def problem(self) -> str:
        """Return why there is no function, '' where there is one."""
        if self._problem is None:
            with self.lock:
                if self._problem is None:
                    self._problem = self._find()
        return self._problem

    def refuse(self, operator: str) -> DispatchError:
        """Return the error of a call that the function would handle."""
        return DispatchError(f"{operator} has a kernel for {self.language}: {self.problem}")

    def function(self, name: str) -> Callable[..., Any]:
        """Return the shim of the kernel that was asked for last."""
        found: Callable[..., Any] = self._shim
        return found

    def kernel(
        self,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
        results: Sequence[str],
        like: int | None = None,
    ) -> NativeKernel:
        """Return a kernel that makes results: `results` are the dtypes that each always has, or ''. The only one looks
        like the argument at position `like`, where that is known."""
        self._shim = ArrayShim(self, operator, convention, dtypes, arguments, results, like).in_core()
        return NativeKernel(self, "", operator, convention, dtypes, arguments, results)

    def writer(self, operator: str, convention: str, dtypes: Sequence[str], arguments: Sequence[str]) -> NativeWriter:
        """Return a kernel that writes arguments."""
        self._shim = ArrayShim(self, operator, convention, dtypes, arguments, (), None).in_core()
        return NativeWriter(self, "", operator, convention, dtypes, arguments)

    def compute(self, shim: ArrayShim, dtype: DType) -> tuple[Compute, tuple[int, int, int]]:
        """Return what calls the function for a dtype; and its address, that of what it is called with, and of what
        frees what it returns. Raises DispatchError where it does not compile."""
        raise NotImplementedError

    def error(self, operator: str, status: int) -> Exception:
        """Return the error that a status of the function stands for."""
        raise NotImplementedError

    def _find(self) -> str:
        """Find the function; return why that is not possible, '' where it is."""
        raise NotImplementedError


def imported(module: str, package: str, install: str) -> tuple[Any, str]:
    """Return a module of a program, and what is wrong: `package`, for which it is written, may not be installed."""
    if find_spec(package) is None:
        return None, f"{package} is not installed: `pip install {install}`"
    try:
        return import_module(module), ""
    except ImportError as error:
        return None, f"{module} cannot be imported ({error})"


class ArrayShim:
    """A shim in Python: it calls a function with arrays that are as its convention has them. Note [Shims in Python]."""

    def __init__(
        self,
        source: Source,
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
        results: Sequence[str],
        like: int | None,
    ) -> None:
        self.operator = operator
        self.convention = convention
        self.arguments = tuple(map(NativeArgument, arguments))
        outs = [NativeArgument(f"out: array{':' * bool(dtype)}{dtype}!") for dtype in results]
        self.parameters = (*self.arguments, *outs)
        self._source = source
        self._like = like
        self._dtypes = {np.dtype(name).num: np.dtype(name) for name in dtypes}
        self._arrays = [(i, each) for i, each in enumerate(self.parameters) if each.is_array]
        self._numbers = [(i, each) for i, each in enumerate(self.arguments) if not each.is_array]
        own = [i for i, each in self._arrays if each.dtype is None and not each.is_optional]
        written = [i for i, each in self._arrays if each.is_written and not each.is_optional]
        self._typed, self._shaped = own[0], (written or own)[0]
        self._computes: dict[int, Compute] = {}
        self._core: Any = None  # what stands before it in the compiled core

    def in_core(self) -> Callable[..., Any]:
        """Return what handles calls: in the compiled core, where that can, in front of this one."""
        letters = [
            ("w" if each.is_written else "a") if each.is_array else _LETTERS.get(each.sort, "")
            for each in self.parameters
        ]
        is_common = not any(each.dtype or each.is_optional or each.is_list for each in self.parameters)
        if fast is None or not is_common or "" in letters or len(letters) > fast.MOST_ARGUMENTS:
            return self
        like = -1 if self._like is None else self._like
        convention, how = _CONVENTIONS.index(self.convention), self._source.how
        failed = partial(self._source.error, self.operator)
        self._core = fast.AddressKernel(self, "".join(letters), len(self.arguments), like, convention, how, failed)
        core: Callable[..., Any] = self._core
        return core

    def __call__(self, *given: Any) -> Any:
        """Return the first result, None where the kernel has none; NotImplemented for what it does not take."""
        first = given[self._typed]
        if type(first) is not np.ndarray or first.dtype.num not in self._dtypes or self._source.problem:
            return NotImplemented
        dtype = self._dtypes[first.dtype.num]
        values = list(given)
        count = len(self.arguments)
        is_made = len(values) == count + 1 and values[count] is None
        try:
            for position, argument in self._numbers:
                values[position] = argument.value(values[position], dtype)
        except (OverflowError, RuntimeError, TypeError, ValueError):
            return NotImplemented
        if is_made:
            if self._like is None:
                return NotImplemented
            like = values[self._like]
            if type(like) is not np.ndarray:
                return NotImplemented
            values[count] = np.empty(like.shape, self.parameters[count].dtype or dtype)
        if not self._are_taken(values, dtype, count if is_made else len(values)):
            return NotImplemented
        compute = self._computes.get(dtype.num) or self._computed(dtype)
        compute(values[:count], values[count:])
        return values[count] if len(values) > count else None

    def _computed(self, dtype: DType) -> Compute:
        """Return what calls the function for a dtype, which is compiled once."""
        with self._source.lock:
            found = self._computes.get(dtype.num)
            if found is None:
                found, addresses = self._source.compute(self, dtype)
                if self._core is not None:
                    self._core.set_function(dtype.num, *addresses)
                self._computes[dtype.num] = found
        return found

    def _are_taken(self, values: Sequence[Any], dtype: DType, end: int) -> bool:
        """Whether all arrays are as the convention has them; those from `end` on are new."""
        is_flat, is_strided = self.convention == "elementwise", self.convention == "strided"
        shape = getattr(values[self._shaped], "shape", None)
        for position, argument in self._arrays:
            value = values[position]
            if value is None and argument.is_optional:
                continue
            wanted = argument.dtype or dtype
            if type(value) is not np.ndarray or value.dtype.num != wanted.num or value.dtype != wanted:
                return False
            flags = value.flags
            if not flags.aligned or not (is_strided or flags.c_contiguous) or (is_flat and value.shape != shape):
                return False
            if is_strided and any(step % value.itemsize for step in value.strides):
                return False
            if argument.is_written and position < end and not self._is_apart(position, values):
                return False
        return True

    def _is_apart(self, position: int, values: Sequence[Any]) -> bool:
        """Whether a written array may be written to, and shares no memory with another."""
        value = values[position]
        if not value.flags.writeable or (self.convention == "strided" and not is_in_order(value)):
            return False
        others = (values[other] for other, _ in self._arrays if other != position)
        return not any(other is not None and np.may_share_memory(value, other) for other in others)
