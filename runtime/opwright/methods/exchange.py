"""Protocols by which tensors meet the rest of Python: NumPy's, DLPack, the CUDA array interface, pickle and copy."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import numpy as np

from opwright.methods import pickling
from opwright.methods.numpy_functions import call_function
from opwright.methods.numpy_ufuncs import call_ufunc
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.arrays.devices import Device
from opwright_core.arrays.formats import MemoryFormat
from opwright_core.core import fast
from opwright_core.tensors import dlpack
from opwright_core.tensors.tensor import Tensor, install_methods

# The versions of the Array API standard that `opwright.array_api` has: each holds those before it.
_STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
# `ndarray OP Tensor` reaches the tensor as a ufunc; the operator that Python would have called on it:
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "left_shift": "__rlshift__",
    "right_shift": "__rrshift__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}


@install_methods
class Exchangeable:
    """The interchange protocols of Tensor, installed on it."""

    __slots__ = ()
    __array_priority__ = 1000
    if fast is not None:
        __dlpack_c_exchange_api__ = fast.tensor_exchange

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return the data for NumPy, sharing memory unless a dtype or `copy=True` asks otherwise. Raises as `numpy`."""
        array: np.ndarray[Any, Any] = self.numpy()  # type: ignore[attr-defined]
        wanted = array.dtype if dtype is None else np.dtype(dtype)  # type: ignore[call-overload]
        if copy is False and wanted != array.dtype:
            raise ValueError(f"a tensor of {array.dtype} cannot become an array of {wanted} without a copy")
        return array.astype(wanted, copy=copy is True)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute `ndarray + Tensor` by the tensor's reflected operator; others by the operator of their meaning."""
        left, right = inputs[0], inputs[-1]
        if method == "__call__" and len(inputs) == 2 and not options and not isinstance(left, Tensor):
            reflected = getattr(right, _REFLECTED.get(ufunc.__name__, ""), None)
            if reflected is not None:
                return reflected(left if isinstance(left, np.ndarray) else np.asarray(left))
        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a function of NumPy, giving Tensors for arrays: by the operator of its meaning, which records."""
        return call_function(function, types, args, kwargs)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return `opwright.array_api`. Raises ValueError for versions of the standard after that of 2025.12."""
        if api_version not in (None, *_STANDARDS):
            raise ValueError(f"api_version: expected one of {', '.join(_STANDARDS)}, but got {api_version!r}")
        return late_bound.tools().array_namespace()

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """Return the tensor on a device: itself where it is there. Raises ValueError for a stream."""
        if stream is not None:
            raise ValueError(f"to_device: there are no streams to copy in, but got {stream!r}")
        return self.to(device)  # type: ignore[attr-defined, no-any-return]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        array = self.array  # type: ignore[attr-defined]
        if not hasattr(array, "__cuda_array_interface__"):  # (so that `hasattr` is false of the tensor, too)
            is_cuda = self.is_cuda  # type: ignore[attr-defined]
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on a tensor on {self.device}; "  # type: ignore[attr-defined]
                + ("it is fake and has no data" if is_cuda else "move it to a CUDA device first")
            )
        if self.requires_grad:  # type: ignore[attr-defined]
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. Use tensor.detach() first."
            )
        self._check_no_tangent("get __cuda_array_interface__ on")  # type: ignore[attr-defined]
        interface: dict[str, Any] = array.__cuda_array_interface__
        return interface

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule over the same memory.

        Raises BufferError if gradients are recorded or the array cannot be exported, RuntimeError for a tangent.
        """
        if self.requires_grad:  # type: ignore[attr-defined]
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        self._check_no_tangent("export")  # type: ignore[attr-defined]
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        given = {name: value for name, value in options.items() if value is not None}
        return dlpack.export(self.array, given)  # type: ignore[attr-defined]

    def __dlpack_device__(self) -> tuple[Any, int]:
        array = self.array  # type: ignore[attr-defined]
        if not hasattr(array, "__dlpack_device__"):
            raise BufferError(f"{type(array).__name__} does not speak DLPack")
        device: tuple[Any, int] = array.__dlpack_device__()
        return device

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pickling.reduce_tensor(self)  # type: ignore[arg-type]

    def copy(self) -> Tensor:
        """Return a row-major copy, as NumPy's method does; `clone` keeps the strides. Gradients pass through it."""
        copied: Tensor = aten["clone"](self, memory_format=MemoryFormat.contiguous_format)
        return copied

    def __copy__(self) -> Any:
        return pickling.share(self)  # type: ignore[arg-type]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:  # type: ignore[attr-defined]
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; "
                "use .detach() first."
            )
        known = memo.get(id(self))
        if known is None:
            rebuild, arguments = pickling.reduce_tensor(self)  # type: ignore[arg-type]
            known = memo[id(self)] = rebuild(*copy.deepcopy(arguments, memo))
            if self.grad is not None:  # type: ignore[attr-defined]
                known.grad = copy.deepcopy(self.grad, memo)  # type: ignore[attr-defined]
        return known
