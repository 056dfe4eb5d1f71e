"""Arrays without data: they stand in for NumPy's and CuPy's on the meta device and in fake tensors.

They look like NumPy's arrays, strides in bytes included, so that code that only looks at arrays (rules, view kernels,
storages) runs on them as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from opwright.errors import DataDependentOutputError, FakeKernelError
from opwright_core import keys
from opwright_core.arrays import devices, layouts
from opwright_core.arrays.dense import nondense_bit_of
from opwright_core.arrays.devices import Backend, Device, backend_named, element_strides
from opwright_core.arrays.dtypes import DType, int64
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import from_front, guard_or_false
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright.fake.modes import FakeTensorMode

__all__ = ["META_PLACE", "MetaArray", "Place", "meta_array", "place_on", "wrap_meta"]


class Place:
    """The place that an array without data claims: a device, and the mode whose tensors it belongs to.

    Without a mode it is the meta device's. There is one Place for each mode and device, so that one comparison by
    identity checks both. `keys` is what a dense tensor there carries.
    """

    __slots__ = ("device", "keys", "mode")

    def __init__(self, device: Device, mode: FakeTensorMode | None = None) -> None:
        self.device = device
        self.mode = mode
        self.keys = keys.META | keys.ADINPLACEORVIEW | _autograd_key(device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Place:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.mode is not None:
            raise TypeError("a fake tensor belongs to a FakeTensorMode, which does not pickle: pickle the real one")
        return place_on, (self.device,)

    def __repr__(self) -> str:
        return f"Place({self.device!r}, {self.mode!r})"


def _autograd_key(device: Device) -> int:
    """Return the Autograd key of the device the tensor claims: its CUDA kernels need no GPU to be differentiated."""
    known = {"cpu": keys.AUTOGRAD_CPU, "cuda": keys.AUTOGRAD_CUDA, "meta": keys.AUTOGRAD_META}.get(device.type)
    return known or keys.autograd_of(backend_named(device).key)


_places: dict[tuple[str, int | None], Place] = {}


def place_on(device: Device) -> Place:
    """Return the place without a mode on a device."""
    name = device.type, device.index
    return _places.get(name) or _places.setdefault(name, Place(device))


META_PLACE = place_on(Device("meta"))


@dataclass(frozen=True, slots=True)
class _Flags:
    c_contiguous: bool


_ROW_MAJOR, _OTHER = _Flags(True), _Flags(False)


# What to do where a kernel cannot run without data.
WANTS_RULE = "give the operator a rule (`meta:` in its schema) or a fake kernel (opwright.library.register_fake)"


class NoDataError(FakeKernelError, AttributeError):
    """An error: a kernel used an attribute that arrays without data do not have."""


class MetaArray:
    """An array without data: sizes, strides and offset in its memory (in bytes, as NumPy counts), dtype and place.

    `base` is the array whose memory it would share, None for one with memory of its own: two arrays share memory where
    their roots are one. Sizes, strides and offset may be symbolic.
    """

    __slots__ = ("base", "constant", "dtype", "lifted", "offset", "place", "shape", "strides")
    shape: Shape
    strides: Shape
    dtype: DType
    place: Place
    offset: int
    base: MetaArray | None
    constant: Any  # of `tensor(4.0)` in a FakeTensorMode, and of a symbolic number: the only element; not set elsewhere
    lifted: Any  # of what a FakeTensorMode makes of data in a dispatch mode: the tensor with the data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NoDataError(f"a kernel used .{name} of an array without data, which has views alone: {WANTS_RULE}")

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return layouts.count(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the bytes its elements would take."""
        return self.size * self.dtype.itemsize

    @property
    def root(self) -> MetaArray:
        """Return the array that stands for the memory: `base`, or itself."""
        return self if self.base is None else self.base

    @property
    def is_symbolic(self) -> bool:
        """Whether a size, a stride or the offset is symbolic."""
        return not all(type(each) is int for each in (*self.shape, *self.strides, self.offset))

    @property
    def flags(self) -> _Flags:
        """Return `flags.c_contiguous`: surely row-major. Symbolic sizes are not asked: that would restrict them."""
        is_row_major = not self.is_symbolic and layouts.is_contiguous(self.shape, element_strides(self))
        return _ROW_MAJOR if is_row_major else _OTHER

    @property
    def data(self) -> _Address:
        """Return where the first element would be: what CuPy's constructor takes."""
        return _Address(self.root, self.offset)

    def lying(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> MetaArray:
        """Return another view of the same memory."""
        made = MetaArray()
        made.shape = tuple(shape)
        made.strides = tuple(strides)
        made.dtype = self.dtype
        made.place = self.place
        made.offset = offset
        made.base = self.root
        return made

    # What view kernels ask of an array

    @property
    def T(self) -> MetaArray:
        """Return the array with its dimensions in reverse order."""
        return self.lying(self.shape[::-1], self.strides[::-1], self.offset)

    def transpose(self, *axes: Any) -> MetaArray:
        """Return the array with its dimensions in another order, given as ints or one sequence of them."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.lying([self.shape[i] for i in order], [self.strides[i] for i in order], self.offset)

    def swapaxes(self, first: int, second: int) -> MetaArray:
        """Return the array with two dimensions swapped."""
        order = list(range(self.ndim))
        order[first], order[second] = second, first
        return self.transpose(order)

    def reshape(self, shape: Shape) -> MetaArray:
        """Return a row-major array in another shape."""
        return self.lying(shape, _bytes(layouts.contiguous_strides(shape), self.dtype), self.offset)

    def squeeze(self, axis: Sequence[int] | None = None) -> MetaArray:
        """Return the array without the dimensions of size 1, or those of them that `axis` names."""
        gone = [i for i, size in enumerate(self.shape) if guard_or_false(size == 1)] if axis is None else axis
        kept = [i for i in range(self.ndim) if i not in gone]
        return self.lying([self.shape[i] for i in kept], [self.strides[i] for i in kept], self.offset)

    def __getitem__(self, index: Any) -> MetaArray:
        """Index by ints, slices with a positive step, an ellipsis, None."""
        wanted = list(index) if isinstance(index, tuple) else [index]
        taken = sum(each is not None and each is not Ellipsis for each in wanted)
        at = next((i for i, each in enumerate(wanted) if each is Ellipsis), len(wanted))
        wanted[at : at + 1] = [_WHOLE] * (self.ndim - taken)
        shape: list[int] = []
        strides: list[int] = []
        offset, dims = self.offset, iter(zip(self.shape, self.strides, strict=True))
        for each in wanted:
            size, stride = (1, 0) if each is None else next(dims)
            if isinstance(each, slice):
                first, size, step = _taken(each, size)
                offset = offset + first * stride
                stride = stride * step
            elif each is not None:
                offset = offset + from_front(each, size) * stride
                continue
            shape.append(size)
            strides.append(stride)
        return self.lying(shape, strides, offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return meta_array, (self.shape, element_strides(self), self.dtype, self.place)

    def __setitem__(self, index: Any, value: object) -> None:
        """Write nothing: there is no data."""

    def view(self, dtype: DType) -> MetaArray:
        """Return the memory as another dtype; the last, dense dimension takes up the difference in size."""
        made = self.lying(self.shape, self.strides, self.offset)
        old, new = self.dtype.itemsize, dtype.itemsize
        made.dtype = dtype
        if old != new:
            made.shape = (*self.shape[:-1], self.shape[-1] * old // new)
            made.strides = (*self.strides[:-1], new)
        return made

    # What would need the data

    def nonzero(self) -> tuple[MetaArray, ...]:
        """Return the positions of a mask's true elements: as many as the data says, so an unbacked size where the mode
        has a ShapeEnv. Raises DynamicOutputShapeError without."""
        from opwright.fake.context import dynamic_size

        found = dynamic_size(self.place, "the number of true elements of a mask", self.size)
        return tuple([meta_array((found,), (1,), int64, self.place) for _ in self.shape])

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise DataDependentOutputError(
            f"{self!r} has no data: NumPy cannot compute with it. A kernel that works on arrays was called with it; "
            "give the operator a rule (`meta:` in its schema) or a fake kernel (opwright.library.register_fake)"
        )

    def __repr__(self) -> str:
        return (
            f"MetaArray({list(self.shape)}, strides={list(element_strides(self))}, {self.dtype}, {self.place.device})"
        )


_WHOLE = slice(None)


def _taken(part: slice, size: int) -> tuple[int, int, int]:
    """Return where a slice begins, how many elements it takes, and its step. Symbolic bounds are within the size."""
    if part == _WHOLE:
        return 0, size, 1
    if type(size) is int and all(type(each) in (int, type(None)) for each in (part.start, part.stop, part.step)):
        taken = range(size)[part]
        return taken.start, len(taken), taken.step
    first = 0 if part.start is None else part.start
    last = size if part.stop is None else part.stop
    step = 1 if part.step is None else part.step
    return first, (last - first + step - 1) // step, step


@dataclass(frozen=True, slots=True)
class _Address:
    """A place in memory that is not there; adding to it moves on by bytes."""

    root: MetaArray
    offset: int

    def __add__(self, length: int) -> _Address:
        return _Address(self.root, self.offset + length)


def meta_array(shape: Shape, strides: Shape, dtype: DType, place: Place) -> MetaArray:
    """Return an array with memory of its own; strides in elements."""
    made = MetaArray()
    made.shape = shape
    made.strides = _bytes(strides, dtype)
    made.dtype = dtype
    made.place = place
    made.offset = 0
    made.base = None
    return made


def _bytes(strides: Shape, dtype: DType) -> Shape:
    size = dtype.itemsize
    return tuple([stride * size for stride in strides])


def wrap_meta(array: MetaArray) -> Tensor:
    """Return a new tensor on an array without data."""
    made = new_tensor()
    made.array = array
    made.keys = array.place.keys | nondense_bit_of(array.shape, array.strides, array.dtype, array.itemsize)
    made.edge = None
    made.extra = None
    return made


@dataclass(frozen=True, eq=False, slots=True)
class _MetaBackend(Backend):
    """The backend of arrays without data, which say themselves which device they are on."""

    def device(self, array: MetaArray) -> Device:
        """Return the device that the array claims."""
        return array.place.device

    def keys_of(self, array: MetaArray) -> int:
        """Return the keys that a dense tensor on the array carries."""
        return array.place.keys


def _no_data(array: MetaArray) -> NoReturn:
    array.__array__()


def _from_numpy(array: Any, index: int | None) -> MetaArray:
    return meta_array(array.shape, element_strides(array), array.dtype, META_PLACE)


def _array_module() -> ModuleType:
    from opwright.fake import array_module

    return array_module


devices.add_backend(
    _MetaBackend(
        name="meta",
        key=keys.META,
        keys=keys.DENSE_META,
        array_type=MetaArray,
        array_module=_array_module,
        shape=attrgetter("shape"),
        strides=element_strides,
        dtype=attrgetter("dtype"),
        index=lambda array: array.place.device.index,
        to_numpy=_no_data,
        from_numpy=_from_numpy,
        data_ptr=lambda array: array.offset,
    )
)
