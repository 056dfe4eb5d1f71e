"""Tensors of a level: each shows the metadata of its value, a tensor of a level further out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from opwright.fake.arrays import MetaArray, Place, place_on
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.storage import Extra, Storage
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD, BACK_MODE, BACKENDS, FRONT_MODE, META, NONDENSE
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright.levels.interpreter import Interpreter

__all__ = [
    "CapturedStorage", "InsideArray", "InsideStorage", "capture", "is_inside", "put_inside", "stands_for_samples",
    "value_of", "wrap_inside",
]  # fmt: skip

# What a tensor of a level has of its value's keys: where it is, and how it would be recorded there.
_SHOWN = BACKENDS & ~META | AUTOGRAD | ADINPLACEORVIEW


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
        return self._of_sample(self.value.shape)

    @property
    def strides(self) -> Shape:  # type: ignore[override]
        """Return the strides of a sample, in bytes."""
        size = self.value.dtype.itemsize
        return tuple([stride * size for stride in self._of_sample(self.value.stride())])

    def _of_sample(self, each: Shape) -> Shape:
        dim = self.dim
        return tuple(each) if dim is None else (*each[:dim], *each[dim + 1 :])

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """Return the value's dtype."""
        return self.value.dtype

    @property
    def offset(self) -> int:  # type: ignore[override]
        """Return the bytes in the value's storage before its first element."""
        return self.value.storage_offset() * self.value.dtype.itemsize

    @property
    def place(self) -> Place:  # type: ignore[override]
        """Return the value's device, as arrays without data have one."""
        return place_on(self.value.device)

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


def put_inside(value: Tensor, level: Interpreter, dim: int | None = None, *, keys: int = 0) -> Tensor:
    """Return a tensor of a level that has this value. `keys` are added to those it shows of the value's."""
    array = InsideArray()
    array.value = value
    array.level = level
    array.dim = dim
    return wrap_inside(array, value.keys, keys)


def capture(value: Tensor, level: Interpreter, *, keys: int) -> Tensor:
    """Return a tensor of a level that has a value which came from outside: the level must not write to it."""
    made = put_inside(value, level, keys=keys)
    made.extra = Extra(CapturedStorage(made.array))
    return made


def wrap_inside(array: InsideArray, shown: int, keys: int = 0) -> Tensor:
    """Return a tensor of a level on an array whose value has the keys `shown`. `keys` are added to what it takes over
    of these. It always has NONDENSE: whether its value is dense may change."""
    made = new_tensor()
    made.array = array
    made.keys = shown & _SHOWN | FRONT_MODE | NONDENSE | keys
    made.edge = None
    if keys & BACK_MODE:  # kernels of Autograd look at views and count writes
        made.keys &= ~BACKENDS
        made.extra = Extra(InsideStorage(array))
    else:
        made.extra = None
    return made


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
