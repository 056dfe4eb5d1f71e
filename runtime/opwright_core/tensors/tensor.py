"""Tensor: an array of any backend, its dispatch keys, and what views, gradients and storages add when they come up.

The operators and their methods are generated and attached by `opwright_aten.methods`; here is what is no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.dense import nondense_bit
from opwright_core.arrays.devices import Array, Device, backend_of, dtype_of, is_array, shape_of
from opwright_core.arrays.dtypes import CANONICAL, REDUCED, DType
from opwright_core.arrays.size import Size, size_of
from opwright_core.arrays.storage import Extra, Storage
from opwright_core.core import fast
from opwright_core.keys import DENSE_CPU, GRAD, NONDENSE, PRE_DISPATCH, PYTHON, TANGENT, TRACKED, VIEW
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.tensors.given_arrays import unsupported_dtype, with_strides, without_subclass
from opwright_core.tensors.methods import TensorMethods, expect_methods

ndarray = np.ndarray


class Tensor(TensorMethods):
    """An n-dimensional array with a dtype, a device and dispatch keys, which operators return.

    `array` is the data (`numpy.ndarray`, `cupy.ndarray`, or a registered backend's), `keys` the bits it dispatches by,
    `edge` its position in the autograd graph (None unless `keys` has GRAD), `extra` the
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
        array = self.array
        return len(array.shape if type(array) is ndarray else shape_of(array))

    @property
    def dtype(self) -> DType:
        """Return the dtype, a NumPy one."""
        array = self.array
        return array.dtype if type(array) is ndarray else dtype_of(array)

    @property
    def device(self) -> Device:
        """Return where the data is."""
        array = self.array
        return CPU_DEVICE if type(array) is ndarray else backend_of(array).device(array)

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

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

    def __len__(self) -> int:
        shape = shape_of(self.array)
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    # By identity, as in PyTorch; generated methods attach an elementwise __eq__.
    __hash__ = object.__hash__


expect_methods(Tensor)
CPU_DEVICE: Device = Device("cpu")
KEYS_OF_VIEWS: int = ~(NONDENSE | GRAD | PYTHON | TANGENT | PRE_DISPATCH)  # a view is a plain Tensor
_new_extra = partial(Extra.__new__, Extra)
# Without the `__new__` that `opwright.methods.typed` has for arguments: it takes 0.1 µs where Python runs.
new_tensor: Callable[[], Tensor] = Tensor if fast is not None else partial(object.__new__, Tensor)
# What wrap looks at first: the keys of a dtype (DENSE_CPU itself), so that one look-up also refuses other dtypes.
_KEYS_OF_DTYPE = {dtype: DENSE_CPU | NONDENSE if dtype in REDUCED else DENSE_CPU for dtype in CANONICAL}
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
    if shape and array.flags.c_contiguous:  # what `nondense_bit` says, without the call
        if 1 in shape or 0 in shape:
            array = with_strides(array)
            keys = keys | NONDENSE if nondense_bit(array) else keys
    else:
        keys |= NONDENSE
    out = new_tensor()
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
    out = new_tensor()
    out.array = array
    out.keys = backend.keys_of(array) | nondense_bit(array)
    out.edge = None
    out.extra = None
    return out


def wrap_view(base: Tensor, array: Array, nondense: int | None = None) -> Tensor:
    """Make a tensor on a view of the array of `base`, of its storage and root base; what is made of an inference tensor
    has no base. `nondense`: its `nondense_bit`, if known."""
    if (extra := base.extra) is None:
        extra = base.extra = Extra()
    storage = extra.storage
    if storage is None:
        storage = extra.storage = Storage(base.array)
    storage.has_views = True
    root = extra.base
    out = new_tensor()
    out.array = array
    out.edge = None
    own = out.extra = _new_extra()
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
    if nondense is not None:
        keys |= nondense
    elif type(array) is ndarray:  # what `nondense_bit` says, without the call for most
        if not array.flags.c_contiguous or not (shape := array.shape):
            keys |= NONDENSE
        elif 1 in shape or 0 in shape or array.itemsize == 2:
            keys |= nondense_bit(array)
    elif is_array(array):
        keys |= nondense_bit(array)
    else:
        raise wrong_result(f"must return a view, but returned {shown(array)}")
    out.keys = keys
    return out


def wrap_views(base: Tensor, arrays: Sequence[Array]) -> list[Tensor]:
    """Do as `wrap_view` for each array."""
    if not isinstance(arrays, tuple | list):
        raise wrong_result(f"must return a list of views, but returned {shown(arrays)}")
    return [wrap_view(base, array) for array in arrays]
