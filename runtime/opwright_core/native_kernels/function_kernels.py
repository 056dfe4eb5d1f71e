"""Kernels in C and CUDA: which function is called, which arrays may be written to, what is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.errors import DispatchError
from opwright_core.native_kernels.arguments import NativeArgument, is_in_order, share_memory
from opwright_core.plans.plan import INTERNAL_OVERLAP

__all__ = ["FunctionKernel", "WritingKernel"]

Shape = tuple[int, ...]


class FunctionKernel:
    """A kernel with a function for each of `dtypes`, by one of the conventions."""

    __slots__ = ("_arguments", "_convention", "_dtypes", "_operator")
    _language = "C"
    _hint = ""

    def __init__(self, operator: str, convention: str, dtypes: Sequence[str], arguments: Sequence[str]) -> None:
        self._operator = operator
        self._convention = convention
        self._dtypes = tuple(map(np.dtype, dtypes))
        self._arguments = tuple(map(NativeArgument, arguments))

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
                    message = f"{name!r} is {other}, and its {self._language} kernel takes {argument.dtype} there"
                    raise DispatchError(f"{self._operator}: {message}")
            elif dtype is None or other == dtype:
                first, dtype = first or name, other
            else:
                message = f"{first!r} is {dtype} and {name!r} {other}: a {self._language} kernel takes arrays of one"
                raise DispatchError(f"{self._operator}: {message} dtype{self._hint}")
        for listed in self._dtypes:
            if listed == dtype:
                return listed
        known = ", ".join(map(str, self._dtypes))
        message = f"not implemented for {dtype}: its {self._language} kernel takes {known}"
        raise DispatchError(f"{self._operator}: {message}")

    def _taken(self, given: Sequence[Any], dtype: np.dtype[Any], shape: Shape | None) -> list[Any]:
        """Return the arguments as the function takes them, but for arrays that are written."""
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

    def _array(self, value: Any, dtype: np.dtype[Any], shape: Shape | None) -> Any:
        """Return an operand as the function takes it: itself where that is possible, else a copy."""
        raise NotImplementedError


class WritingKernel(FunctionKernel):
    """A kernel that writes arguments: as they lie where it can, else copies of them, whose values are put back."""

    __slots__ = ()

    def check(self, *given: Any) -> None:
        """Raise what a call with arrays of these dtypes and shapes would raise."""
        self._known(given)

    def _known(self, given: Sequence[Any]) -> tuple[np.dtype[Any], Shape | None]:
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
        """Refuse arrays that nothing may be written to. Raises ValueError, RuntimeError."""
        arrays = self._arrays(given)
        written = [(argument.name, value, self._seen(value)) for argument, value in arrays if argument.is_written]
        for position, (name, value, seen) in enumerate(written):
            if not seen.flags.writeable:
                message = f"{name!r} is read-only, and the {self._language} kernel writes to it"
                raise ValueError(f"{self._operator}: {message}")
            if layouts.may_overlap_itself(value.shape, value.strides):
                raise RuntimeError(INTERNAL_OVERLAP)
            for other, _, array in written[:position]:
                if share_memory(seen, array):
                    message = f"{other!r} and {name!r} share memory, and both are written to"
                    raise RuntimeError(f"{self._operator}: {message}: clone one of them")

    def _prepared(
        self, given: Sequence[Any], dtype: np.dtype[Any], shape: Shape | None
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Return the arguments as the function takes them, and pairs of a written array and its copy."""
        written = [value for argument, value in self._arrays(given) if argument.is_written]
        seen = [self._seen(value) for value in written]
        passed = self._taken(given, dtype, shape)
        copied = []
        for position, (argument, value) in enumerate(zip(self._arguments, passed, strict=True)):
            if not argument.is_array or value is None:
                continue
            if argument.is_written:
                others = [array for each, array in zip(written, seen, strict=True) if each is not value]
                passed[position] = self._target(value, argument.dtype or dtype, others)
                if not np.may_share_memory(self._seen(passed[position]), self._seen(value)):
                    copied.append((value, passed[position]))
            elif any(np.may_share_memory(self._seen(value), each) for each in seen):
                passed[position] = value.copy()
        return passed, copied

    def _target(self, value: Any, dtype: np.dtype[Any], others: Sequence[Any]) -> Any:
        """Return a written array as the function takes it: itself where that is possible, else a copy. `others` are
        those that are written, too."""
        seen = self._seen(value)
        is_taken = seen.flags.behaved and (
            is_in_order(seen) if self._convention == "strided" else seen.flags.c_contiguous
        )
        if is_taken and any(np.may_share_memory(seen, each) for each in others):
            is_taken = False  # (they lie between each other's elements)
        if is_taken:
            return self._typed(value, dtype)
        copy = self._new(value.shape, dtype)  # (`np.array` would keep a `long long`)
        copy[...] = value
        return copy

    def _seen(self, value: Any) -> np.ndarray[Any, Any]:
        """Return an array of NumPy whose elements are where those of an array are."""
        return np.asarray(value)

    def _new(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        """Return an array that holds nothing yet."""
        return np.empty(shape, dtype)

    def _typed(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return the array itself, in the very dtype: `long` for `long long`."""
        array = self._seen(value)
        return array if array.dtype.num == dtype.num else array.view(dtype)
