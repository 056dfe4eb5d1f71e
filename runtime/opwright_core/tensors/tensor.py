"""Tensor: an array of any backend, its dispatch keys, and what views, gradients and storages add when they come up.

The operators and their methods are generated and attached by `opwright_aten.methods`; here is what is no operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import Array, Device, backend_of, is_array, shape_of
from opwright_core.arrays.dtypes import CANONICAL, COMPLEX, FLOATING, REDUCED, DType
from opwright_core.arrays.formats import Layout
from opwright_core.arrays.simple import odd_bit
from opwright_core.arrays.size import Size, size_of
from opwright_core.arrays.storage import Extra, Storage, storage_of
from opwright_core.hooks import hooks
from opwright_core.keys import DENSE_CPU, FRONT_MODE, GRAD, META, ODD, PYTHON, TANGENT, TRACKED, VIEW
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.tensors.given_arrays import unsupported_dtype, with_strides, without_subclass
from opwright_core.tensors.methods import TensorMethods, expect_methods

ndarray = np.ndarray


class Tensor(TensorMethods):
    """An n-dimensional array with a dtype, a device and dispatch keys; `opwright.tensor` and operators make it.

    `array` is the data (`numpy.ndarray`, `cupy.ndarray`, or a registered backend's), `keys` the bits it dispatches by,
    `edge` its place in the autograd graph (`opwright.autograd.nodes`; None unless `keys` has GRAD), `extra` the
    storage, view base and gradient, once there are any.
    """

    __slots__ = ()  # those of TensorBase
    array: Array
    keys: int
    edge: Any
    extra: Extra | None

    # Shape and memory

    @property
    def shape(self) -> Size:
        """Return the sizes, as a tuple."""
        array = self.array
        return size_of(Size, array.shape if type(array) is ndarray else shape_of(array))

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(shape_of(self.array))

    @property
    def dtype(self) -> DType:
        """Return the dtype, a NumPy one."""
        array = self.array
        return array.dtype if type(array) is ndarray else backend_of(array).dtype(array)

    @property
    def device(self) -> Device:
        """Return where the data is."""
        array = self.array
        return CPU_DEVICE if type(array) is ndarray else backend_of(array).device(array)

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Return the bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def layout(self) -> Layout:
        """Return `Layout.strided`: there is no other."""
        return Layout.strided

    @property
    def is_cpu(self) -> bool:
        """Whether the data is in NumPy's memory."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether there is metadata alone."""
        return self.device.type == "meta"

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension. Raises IndexError for a dimension out of range."""
        shape = self.array.shape if type(self.array) is ndarray else shape_of(self.array)
        if type(dim) is int and -len(shape) <= dim < len(shape):
            return shape[dim]
        return size_of(Size, shape) if dim is None else shape[layouts.existing_dim(dim, len(shape))]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or that of one dimension. Raises IndexError for a dimension out of range."""
        array = self.array
        strides = backend_of(array).strides(array)
        return strides if dim is None else strides[layouts.existing_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """Return how many elements of the storage lie before the first one."""
        extra, array = self.extra, self.array
        if self.keys & FRONT_MODE:  # a tensor of a level, whose value says where it lies
            return array.offset // array.itemsize  # type: ignore[no-any-return]
        is_own = extra is None or extra.storage is None
        if is_own and all(stride >= 0 for stride in backend_of(array).strides(array)):
            return 0
        return storage_of(self).offset_of(array)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size if type(self.array) is ndarray else layouts.count(shape_of(self.array))

    nelement = numel
    ndimension = dim

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 if there is none, and on the meta device."""
        if self.keys & META:
            if not self.is_meta:
                raise hooks.fakes().no_data(self.array, ".data_ptr()")
            return 0
        return backend_of(self.array).data_ptr(self.array) if self.numel() else 0

    def is_contiguous(self, memory_format: object = None) -> bool:
        """Whether the elements lie in row-major order (or channels last, if that is asked) without gaps."""
        if memory_format is None and type(self.array) is ndarray:
            return self.array.flags.c_contiguous
        shape, strides = shape_of(self.array), self.stride()
        match str(getattr(memory_format, "name", memory_format)).removeprefix("torch."):
            case "None" | "contiguous_format":
                return layouts.is_contiguous(shape, strides)
            case "channels_last":
                return len(shape) == 4 and layouts.is_channels_last(shape, strides)
            case "channels_last_3d":
                return len(shape) == 5 and layouts.is_channels_last(shape, strides)
        raise RuntimeError(f"unsupported memory format: {memory_format}")

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one."""
        return self.dtype in FLOATING

    def is_complex(self) -> bool:
        """Whether the dtype is a complex one."""
        return self.dtype in COMPLEX

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.dtype.kind != "u" and self.dtype.kind != "b"

    def is_nonzero(self) -> bool:
        """Whether the only element is not zero. Raises RuntimeError if there is not exactly one."""
        return bool(self)

    def get_device(self) -> int:
        """Return the device's index; -1 where it has none."""
        index = self.device.index
        return -1 if index is None else index

    def is_same_size(self, other: Tensor) -> bool:
        """Whether the shapes are equal."""
        return self.shape == other.shape

    # Views and versions

    @property
    def _base(self) -> Tensor | None:
        return None if self.extra is None else self.extra.base

    @property
    def _version(self) -> int:
        if not self.keys & TRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return storage_of(self).version

    def untyped_storage(self) -> Storage:
        """Return the storage shared with all views."""
        return storage_of(self)

    def is_set_to(self, other: Tensor) -> bool:
        """Whether both look at the same memory in the same way."""
        same = self.shape == other.shape and self.stride() == other.stride()
        return same and self.data_ptr() == other.data_ptr()

    def __len__(self) -> int:
        shape = shape_of(self.array)
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[place] for place in range(len(self)))

    def __contains__(self, element: object) -> bool:
        if isinstance(element, (Tensor, bool, int, float, complex)):
            found: Any = self == element
            return bool(np.any(found.numpy(force=True)))
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    # By identity, as in PyTorch; generated methods attach an elementwise __eq__.
    __hash__ = object.__hash__


expect_methods(Tensor)
CPU_DEVICE: Device = Device("cpu")
KEYS_OF_VIEWS: int = ~(ODD | GRAD | PYTHON | TANGENT)  # a view is a plain Tensor
_bare_extra = Extra.__new__
# What wrap looks at first: the keys of a dtype (DENSE_CPU itself), so that one look-up also refuses other dtypes.
_KEYS_OF_DTYPE = {dtype: DENSE_CPU | ODD if dtype in REDUCED else DENSE_CPU for dtype in CANONICAL}
_OF_CLASSES = {"__annotations__", "__dict__", "__doc__", "__module__", "__qualname__", "__slots__", "__weakref__"}
_Holder = TypeVar("_Holder", bound=type)


def install_methods(holder: _Holder) -> _Holder:
    """Give Tensor the functions and properties of a class, which stays what it is. To be used as a decorator."""
    for name, value in vars(holder).items():
        if name not in _OF_CLASSES:
            setattr(Tensor, name, value)
    return holder


def wrap(array: Array) -> Tensor:
    """Make a new tensor on an array of any registered backend; a NumPy scalar becomes a 0-dim array.

    Raises TypeError for a dtype that no Tensor can have, or an array of no backend.
    """
    if type(array) is not ndarray:
        return _wrap_other(array)
    keys = _KEYS_OF_DTYPE.get(array.dtype)
    if keys is None:
        raise TypeError(unsupported_dtype(array))
    shape = array.shape
    if shape and array.flags.c_contiguous:  # what `odd_bit` says, without the call
        if 1 in shape or 0 in shape:
            array = with_strides(array)
            keys = keys | ODD if odd_bit(array) else keys
    else:
        keys |= ODD
    out = Tensor()
    out.array = array
    out.keys = keys
    out.edge = None
    out.extra = None
    return out


def _wrap_other(array: Array) -> Tensor:
    if isinstance(array, (np.generic, ndarray)):
        return wrap(without_subclass(array))
    backend = backend_of(array)
    if backend.name == "cuda":
        array = with_strides(array, check_dtype=True)
    out = Tensor()
    out.array = array
    out.keys = backend.keys_of(array) | odd_bit(array)
    out.edge = None
    out.extra = None
    return out


def wrap_view(base: Tensor, array: Array, odd: int | None = None) -> Tensor:
    """Make a tensor on a view of the array of `base`, of its storage and root base; what is made of an inference tensor
    has no base. `odd`: its `odd_bit`, if known."""
    if (extra := base.extra) is None:
        extra = base.extra = Extra()
    storage = extra.storage
    if storage is None:
        storage = extra.storage = Storage(base.array)
    root = extra.base
    out = Tensor()
    out.array = array
    out.edge = None
    own = out.extra = _bare_extra(Extra)
    own.storage = storage
    own.seen = storage.version
    is_tracked = base.keys & TRACKED
    if root is None:
        own.base = base if is_tracked else None
    else:
        own.base = root
        if creation := getattr(extra, "creation", ""):  # what must not be written to by itself, nor through a view
            own.creation = creation
    own.grad = None
    keys = base.keys & KEYS_OF_VIEWS | (VIEW if is_tracked else 0)
    if odd is not None:
        keys |= odd
    elif type(array) is ndarray:  # what `odd_bit` says, without the call for most
        if not array.flags.c_contiguous or not (shape := array.shape):
            keys |= ODD
        elif 1 in shape or 0 in shape or array.itemsize == 2:
            keys |= odd_bit(array)
    elif is_array(array):
        keys |= odd_bit(array)
    else:
        raise wrong_result(f"must return a view, but returned {shown(array)}")
    out.keys = keys
    return out


def wrap_views(base: Tensor, arrays: Sequence[Array]) -> list[Tensor]:
    """Do as `wrap_view` for each array."""
    if not isinstance(arrays, tuple | list):
        raise wrong_result(f"must return a list of views, but returned {shown(arrays)}")
    return [wrap_view(base, array) for array in arrays]


def is_tensor(value: object) -> bool:
    """Whether the value is a Tensor."""
    return isinstance(value, Tensor)
