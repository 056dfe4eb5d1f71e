"""Tensors of a level: each shows the metadata of its value, a tensor of a level further out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from opwright.fake.arrays import MetaArray, Place, place_on
from opwright_core.arrays.devices import backend_of, dtype_of, shape_of
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.storage import Extra, Storage
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD, BACK_MODE, BACKENDS, FRONT_MODE, META, NONDENSE
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright.levels.interpreter import Interpreter

__all__ = [
    "SHOWN", "CapturedStorage", "InsideArray", "InsideStorage", "capture", "is_inside", "put_inside",
    "stands_for_samples", "value_of",
]  # fmt: skip

# What a tensor of a level has of its value's keys: where it is, and how it would be recorded there.
SHOWN: Final = BACKENDS & ~META | AUTOGRAD | ADINPLACEORVIEW
# What a tensor has of it whose backend is BackMode, and what it always has.
_new_extra: Final = Extra.__new__
_OF_AUTOGRAD: Final = SHOWN & ~BACKENDS
_BACK: Final = FRONT_MODE | BACK_MODE | NONDENSE
# Arrays that have `shape`, `dtype` and `strides` in bytes; a backend computes them of others.
_SHOWS_METADATA: Final = (np.ndarray, MetaArray)


class InsideArray(MetaArray):
    """The array of a tensor of a level, without data of its own: it shows the `value`'s metadata.

    Where the value holds many samples, it shows one of them: `dim` is the value's dimension that counts them.
    """

    __slots__ = ("dim", "level", "value")
    value: Tensor
    level: Interpreter
    dim: int | None

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Return the sizes of a sample."""
        array, dim = self.value.array, self.dim
        while dim is None and type(array) is InsideArray:
            array, dim = array.value.array, array.dim
        shape = array.shape if isinstance(array, _SHOWS_METADATA) else shape_of(array)
        return shape if dim is None else shape[:dim] + shape[dim + 1 :]

    @property
    def strides(self) -> Shape:  # type: ignore[override]
        """Return the strides of a sample, in bytes."""
        array, dim = self.value.array, self.dim
        if isinstance(array, _SHOWS_METADATA):
            strides = array.strides
        else:
            backend = backend_of(array)
            size = backend.dtype(array).itemsize
            strides = tuple([stride * size for stride in backend.strides(array)])
        return strides if dim is None else strides[:dim] + strides[dim + 1 :]

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """Return the value's dtype."""
        array = self.value.array
        while type(array) is InsideArray:
            array = array.value.array
        return array.dtype if isinstance(array, _SHOWS_METADATA) else dtype_of(array)

    @property
    def offset(self) -> int:  # type: ignore[override]
        """Return the bytes in the value's storage before its first element."""
        return self.value.storage_offset() * self.value.dtype.itemsize

    @property
    def place(self) -> Place:  # type: ignore[override]
        """Return the value's device, as arrays without data have one."""
        tensor = self.value
        while type(tensor.array) is InsideArray:
            tensor = tensor.array.value
        return place_on(tensor.device)

    @property
    def base(self) -> None:  # type: ignore[override]
        """Return None: what shares its memory is known by the storage of the tensor."""
        return None

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(
            f"{self!r} has no data of its own: a kernel that works on arrays was called with a tensor of {self.level!r}"
        )

    def __repr__(self) -> str:
        return f"InsideArray({list(self.shape)}, {self.dtype}, {self.place.device}, {self.level!r})"


class InsideStorage(Storage):
    """The storage of tensors of a level: its offsets are those that their arrays show."""

    __slots__ = ()

    def offset_of(self, array: Any) -> int:
        """Return how many elements of the storage lie before the first one of `array`."""
        if isinstance(array, InsideArray):
            start: int = array.offset // array.itemsize
            return start
        return super().offset_of(array)

    def apart(self, version: int = 0) -> Storage:
        """Return the same memory, with a count of writes of its own."""
        other = type(self)(self.array, self.resizable)
        other.version = version
        return other


class CapturedStorage(InsideStorage):
    """The storage of a tensor that the level was neither given nor made, and of its views: nothing there writes it."""

    __slots__ = ()


def put_inside(value: Tensor, level: Interpreter, storage: type[InsideStorage] = InsideStorage) -> Tensor:
    """Return a tensor of a level that Autograd handles, and that has this value: kernels of Autograd look at views and
    count writes, so it has a storage. It always has NONDENSE: whether its value is dense may change."""
    array = InsideArray()
    array.value = value
    array.level = level
    array.dim = None
    made = new_tensor()
    made.array = array
    made.keys = value.keys & _OF_AUTOGRAD | _BACK
    made.edge = None
    extra = made.extra = _new_extra(Extra)  # Python takes as long for an `__init__` as for the rest
    extra.storage = storage(array)
    extra.base = extra.grad = None
    return made


def capture(value: Tensor, level: Interpreter) -> Tensor:
    """Return a tensor of a level that has a value which came from outside: the level must not write to it."""
    return put_inside(value, level, CapturedStorage)


def is_inside(value: object, level: Interpreter) -> bool:
    """Whether the value is a tensor of this level."""
    return isinstance(value, Tensor) and isinstance(value.array, InsideArray) and value.array.level is level


def stands_for_samples(tensor: Tensor) -> bool:
    """Whether the tensor, or a value of it, stands for many samples: it has no data that decisions could be made by."""
    array = tensor.array
    while isinstance(array, InsideArray):
        if array.dim is not None:
            return True
        array = array.value.array
    return False


def value_of(tensor: Tensor) -> Tensor:
    """Return the value of a tensor of a level."""
    value: Tensor = tensor.array.value
    return value
