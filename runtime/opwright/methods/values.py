"""Tensors as Python numbers, lists of them, and NumPy arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from opwright.creation.construction import tensor
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.dtypes import INEXACT, REDUCED
from opwright_core.core import fast
from opwright_core.keys import FRONT_MODE, GRAD, META, TANGENT, WATCHED
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor, install_methods

__all__ = ["Valued"]


_LISTED: Final = 1 << 22  # elements that NumPy makes a list of at once: a signal waits for it

# Of a tensor whose elements are not simply there, or of modes that are told when they are read.
_UNCOMMON: Final = FRONT_MODE | META | WATCHED


@install_methods
class Valued:
    """The readers of a Tensor's elements."""

    __slots__ = ()

    def item(self: Any) -> Any:
        """Return the only element as a Python number. Raises RuntimeError if there is not exactly one."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        keys = with_modes(self.keys)
        if keys & _UNCOMMON:
            if self.keys & FRONT_MODE:
                return late_bound.levels().read(self, ".item()").item()
            if self.keys & META and (constant := late_bound.fakes().constant_of(self)) is not None:
                return constant
            if keys & WATCHED:
                return aten["_local_scalar_dense.default"](self)
            if self.keys & META:
                return self._read_fake(".item()")
        value = backend_of(self.array).to_numpy(self.array)
        return (value.astype(np.float32) if value.dtype in REDUCED else value).item()

    def tolist(self: Any) -> Any:
        """Return nested lists of Python numbers; a number for a 0-dim tensor."""
        if self.keys & META and self.numel() == 1 and late_bound.fakes().constant_of(self) is not None:
            nested = self.item()
            for _ in self.shape:
                nested = [nested]
            return nested
        if self.keys & FRONT_MODE:
            return late_bound.levels().read(self, ".tolist()").tolist()
        self._check_data(".tolist()")
        value = backend_of(self.array).to_numpy(self.array)
        return _nested(value.astype(np.float32) if value.dtype in REDUCED else value)

    def __bool__(self: Any) -> bool:
        count = self.numel()
        if count != 1:
            what = "no values" if count == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        if self.keys & FRONT_MODE:
            return bool(late_bound.levels().read(self, "bool()"))
        is_fake = self.keys & META and not with_modes(self.keys) & WATCHED
        return bool(self._read_fake("bool()") if is_fake else self.item())

    def __int__(self: Any) -> int:
        return int(self._only_real())

    def __float__(self: Any) -> float:
        return float(self._only_real())

    def __complex__(self: Any) -> complex:
        return complex(self._only())

    def _read_fake(self: Any, what: str) -> Any:
        constant = late_bound.fakes().constant_of(self)
        return late_bound.fakes().read_item(self.array, what) if constant is None else constant

    def _check_data(self: Any, what: str) -> None:
        if with_modes(self.keys) & WATCHED:
            late_bound.handlers().data_is_read(self, what)
        if self.keys & META:
            raise late_bound.fakes().no_data(self.array, what)

    def _only(self: Any) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _only_real(self: Any) -> Any:
        value = self._only()
        return value.real if isinstance(value, complex) and value.imag == 0 else value

    def __index__(self: Any) -> int:
        if self.numel() != 1 or self.dtype in INEXACT:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    @property
    def fake_mode(self: Any) -> Any:
        """Return the FakeTensorMode of a fake tensor. Raises AttributeError for any other."""
        mode = self.array.place.mode if self.keys & META else None
        if mode is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'fake_mode': it is no fake tensor")
        return mode

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        """Return a new tensor of the data, copied, of this one's dtype and on its device unless others are named."""
        wanted = self.device if device is None else device
        return tensor(data, dtype=self.dtype if dtype is None else dtype, device=wanted, requires_grad=requires_grad)

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return the data as a NumPy array that shares memory. Raises where it cannot be; `force=True` copies then."""
        if self.keys & FRONT_MODE:
            value: Tensor = late_bound.levels().read(self, ".numpy()")
            return value.numpy(force=force)
        self._check_data(".numpy()")
        if not force:
            keys = with_modes(self.keys)
            if keys & GRAD:
                raise RuntimeError(
                    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
                )
            if keys & TANGENT:
                self._check_no_tangent("call numpy() on")
            if not isinstance(self.array, np.ndarray):
                raise TypeError(
                    f"can't convert {self.device} device type tensor to numpy. "
                    "Use Tensor.cpu() to copy the tensor to host memory first."
                )
        return backend_of(self.array).to_numpy(self.array)


def _nested(array: np.ndarray[Any, Any]) -> Any:
    """Return `array.tolist()`, made of parts of the first dimension where it is long."""
    if array.size <= _LISTED:
        return array.tolist()
    np.empty(array.size, np.intp)  # the memory of the lists: refused here, and not when a part of it is filled
    if array.size > _LISTED * len(array):
        return [_nested(each) for each in array]
    nested, step = [], _LISTED * len(array) // array.size
    for start in range(0, len(array), step):
        nested += array[start : start + step].tolist()
    return nested


if fast is not None:
    fast.configure(UNCOMMON=_UNCOMMON)
    fast.install_readers(Tensor)
