"""The short names of `to`: `x.float()`, `x.cpu()`, and the views that are attributes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from opwright.namespaces import aten
from opwright_core.arrays import dtypes
from opwright_core.arrays.devices import Device, as_device
from opwright_core.tensors.tensor import Tensor, install_methods

_bool = bool  # Castable has a method of that name


class _Moves(Protocol):
    """The generated methods that those here need."""

    @property
    def dtype(self) -> dtypes.DType: ...
    def numpy_T(self) -> Tensor: ...
    def matrix_H(self) -> Tensor: ...


@install_methods
class Castable:
    """The conversions of Tensor, installed on it. None copies where nothing changes."""

    __slots__ = ()

    def to(self, *arguments: Any, **options: Any) -> Tensor:
        """Return the tensor with a dtype, device or memory format, or another tensor's: itself where nothing changes.

        `to(dtype)`, `to(device=None, dtype=None)`, `to(other)`, each with `non_blocking`, `copy`, `memory_format`, or
        all by keyword. Raises ArgumentError for what is none of these.
        """
        if len(arguments) == 1 and isinstance(arguments[0], np.dtype) and not options:
            return _cast(self, arguments[0], None)
        if arguments and (arguments[0] is None or _is_device(arguments[0])):
            names = ("device", "dtype", "non_blocking", "copy")
            options = dict(zip(names, arguments, strict=False)) | options
            arguments = arguments[len(names) :]
        moved: Tensor = aten["to"](self, *arguments, **options)
        return moved

    def astype(self: _Moves, dtype: object, *, copy: _bool = True) -> Tensor:
        """Return the tensor in another dtype, NumPy's way: a copy, unless `copy=False` and it has that dtype."""
        cast: Tensor = aten["to"](self, dtype=dtype, copy=copy)
        return cast

    def cpu(self: _Moves) -> Tensor:
        """Return the tensor on the CPU."""
        moved: Tensor = aten["to"](self, device=Device("cpu"))
        return moved

    def cuda(self: _Moves, device: object = None) -> Tensor:
        """Return the tensor on a CUDA device, the current one unless told otherwise."""
        moved: Tensor = aten["to"](self, device=as_device("cuda" if device is None else device))
        return moved

    def float(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as float32."""
        return _cast(self, dtypes.float32, memory_format)

    def double(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as float64."""
        return _cast(self, dtypes.float64, memory_format)

    def half(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as float16."""
        return _cast(self, dtypes.float16, memory_format)

    def bfloat16(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as bfloat16."""
        return _cast(self, dtypes.bfloat16, memory_format)

    def byte(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as uint8."""
        return _cast(self, dtypes.uint8, memory_format)

    def char(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as int8."""
        return _cast(self, dtypes.int8, memory_format)

    def short(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as int16."""
        return _cast(self, dtypes.int16, memory_format)

    def int(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as int32."""
        return _cast(self, dtypes.int32, memory_format)

    def long(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as int64."""
        return _cast(self, dtypes.int64, memory_format)

    def bool(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as bool."""
        return _cast(self, dtypes.bool_, memory_format)

    def chalf(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as complex64, to which half precision widens where it meets complex numbers: NumPy has no
        complex numbers of it."""
        return _cast(self, dtypes.complex64, memory_format)

    def cfloat(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as complex64."""
        return _cast(self, dtypes.complex64, memory_format)

    def cdouble(self: _Moves, memory_format: Any = None) -> Tensor:
        """Return the tensor as complex128."""
        return _cast(self, dtypes.complex128, memory_format)

    @property
    def T(self: _Moves) -> Tensor:
        """Return the view with its dimensions reversed."""
        return self.numpy_T()

    @property
    def mT(self) -> Tensor:
        """Return the view with its last two dimensions swapped."""
        view: Tensor = aten["mT.default"](self)
        return view

    @property
    def H(self: _Moves) -> Tensor:
        """Return the conjugate transpose of a matrix."""
        return self.matrix_H()

    @property
    def mH(self) -> Tensor:
        """Return the conjugate transpose of the last two dimensions."""
        view: Tensor = aten["mH.default"](self)
        return view

    @property
    def real(self) -> Tensor:
        """Return the real parts, as a view; a real tensor itself. What is assigned is written into them."""
        view: Tensor = aten["real.default"](self)
        return view

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Tensor:
        """Return the imaginary parts, as a view. Raises RuntimeError for a real tensor."""
        view: Tensor = aten["imag.default"](self)
        return view

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value


def _is_device(value: object) -> _bool:
    """Whether it says a device: one, or a text that names no dtype."""
    if isinstance(value, str):
        try:
            dtypes.as_dtype(value)
        except TypeError:
            return True
        return False
    return isinstance(value, Device) or type(value).__name__ == "device"


def _cast(tensor: Any, dtype: dtypes.DType, memory_format: Any) -> Tensor:
    """Call `to.dtype`, with no search for the overload that is meant."""
    if memory_format is None:
        plain: Tensor = aten["to.dtype"](tensor, dtype)
        return plain
    result: Tensor = aten["to.dtype"](tensor, dtype, memory_format=memory_format)
    return result
