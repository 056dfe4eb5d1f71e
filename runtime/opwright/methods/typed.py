"""Tensors by the name of their type, as PyTorch had them before dtypes: `FloatTensor(2, 3)`, `x.type()`, `x.new(3)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from opwright.creation.construction import tensor
from opwright.metadata.view_layouts import as_strided
from opwright.methods.storages import TypedStorage
from opwright.namespaces import aten
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import (
    SCALAR_TYPE_NAME,
    DType,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.arrays.storage import Extra, Storage, set_array, storage_of
from opwright_core.core import fast
from opwright_core.keys import GRAD
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, install_methods

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "TensorType", "Typed", "new_tensor",
]  # fmt: skip

_NAMES: Final = {dtype: f"{name}Tensor" for dtype, name in SCALAR_TYPE_NAME.items() if not name.startswith("UInt")}
_DTYPES: Final = {name: dtype for dtype, name in _NAMES.items()}


class TensorType:
    """A dtype on a device by its name of before: calling it makes tensors, `isinstance` asks for both."""

    def __init__(self, dtype: DType, device: str = "cpu") -> None:
        self.dtype = dtype
        self._device = Device(device)
        self.__name__ = _NAMES[dtype]

    def __call__(self, *data: Any, device: object = None) -> Tensor:
        """Return a tensor of these sizes, unfilled, or of this data. Raises TypeError as `Tensor(…)`."""
        return new_tensor(self.dtype, data, self._device if device is None else device)

    def __instancecheck__(self, instance: object) -> bool:
        if not isinstance(instance, Tensor):
            return False
        return instance.dtype == self.dtype and instance.device.type == self._device.type

    def __repr__(self) -> str:
        return f"<class '{_type_name(self.dtype, self._device)}'>"


def _type_name(dtype: DType, device: Device) -> str:
    kind = "" if device.type == "cpu" else f"{device.type}."
    return f"torch.{kind}{_NAMES.get(dtype, str(dtype))}"


def new_tensor(dtype: DType | None, data: Sequence[Any], device: object = None) -> Tensor:
    """Return an unfilled tensor of the sizes that are given one by one or as a `Size`, or a tensor of a sequence or an
    array; another tensor of the dtype over the memory of one that is given. Without `dtype`: the default one.

    Raises TypeError for numbers that are no sizes, and for a tensor of another dtype.
    """
    wanted = get_default_dtype() if dtype is None else dtype
    if len(data) == 1 and not _is_size(data[0]):
        return _of_data(wanted, data[0], dtype is not None, device)
    for position, size in enumerate(data, 1):
        if not _is_size(size):
            raise TypeError(f"new(): expected sizes, each an int, but argument {position} is {type(size).__name__}")
    sizes = tuple(map(int, data or (0,)))
    made: Tensor = aten["empty"](sizes, dtype=wanted, device=as_device("cpu" if device is None else device))
    return made


def _is_size(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _of_data(dtype: DType, data: Any, is_strict: bool, device: object) -> Tensor:
    if isinstance(data, Tensor):
        if is_strict and data.dtype != dtype:
            raise TypeError(f"new(): expected a tensor of {dtype}, got one of {data.dtype}: convert it by to(…)")
        return data.detach() if device is None else data.detach().to(device)
    if type(data).__name__ == "Size":
        return new_tensor(dtype, tuple(data), device)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return tensor(data, dtype=dtype, device=device)


def _dtype_and_device(named: object) -> tuple[DType, str | None]:
    """Return what a type says, or its name; a dtype says no device."""
    if isinstance(named, TensorType):
        return named.dtype, named._device.type
    if isinstance(named, str) and named.endswith("Tensor"):
        module, _, name = named.rpartition(".")
        kind = module.removeprefix("torch").removeprefix("opwright").removeprefix(".")
        if module and name in _DTYPES:
            return _DTYPES[name], kind or "cpu"
    if isinstance(named, str):
        raise ValueError(f"invalid type: {named!r}: expected a name such as 'torch.FloatTensor', or a dtype")
    return as_dtype(named), None


class _Unshared:
    """Memory that is not shared between processes: what one of them returns is copied."""

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype

    def _new_shared(self, size: int, device: object = None) -> Any:
        """Return an array of that many elements."""
        return np.empty(size, self._dtype)


@install_methods
class Typed:
    """The methods by which older programs ask for types and memory, installed on Tensor."""

    __slots__ = ()

    def type(self: Any, dtype: object = None, non_blocking: bool = False) -> Any:
        """Return the name of the tensor's type, `torch.FloatTensor`; with a type, its name or a dtype, the tensor as
        one of that: itself where it is.

        Raises ValueError for another name.
        """
        if dtype is None:
            return _type_name(self.dtype, self.device)
        wanted, device = _dtype_and_device(dtype)
        return self.to(device or self.device, wanted, non_blocking)

    @classmethod
    def _of_arguments(cls: Any, *data: Any, device: object = None) -> Any:
        """Return `Tensor(2, 3)`, unfilled and of the default dtype, or `Tensor(data)`; an instance of the class."""
        made = new_tensor(None, data, device)
        return made if cls is Tensor else made.as_subclass(cls)

    def new(self: Any, *data: Any, device: object = None) -> Tensor:
        """Return a new tensor of the same dtype and device: of these sizes, unfilled, or of this data."""
        return new_tensor(self.dtype, data, self.device if device is None else device)

    def _typed_storage(self: Any) -> _Unshared:
        """Return what PyTorch's own `default_collate` makes a batch from, in a process that loads data."""
        return _Unshared(self.dtype)

    def set_(
        self: Any,
        source: Tensor | Storage | TypedStorage | None = None,
        storage_offset: int = 0,
        size: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> Tensor:
        """Give the tensor the memory of another, or of a storage, in a shape of its own if one is given; none without
        `source`. Return it.

        Raises RuntimeError for another dtype, a position beyond the memory, and where gradients would be lost.
        """
        if self.requires_grad and _is_recording():
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
                if self.is_leaf
                else "set_ is not recorded: use it on a tensor that requires no grad, or under no_grad()"
            )
        if source is None:
            source, size = aten["empty"]((0,), dtype=self.dtype, device=self.device), None
        if isinstance(source, Tensor):
            if source.dtype != self.dtype:
                raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
            if size is None:
                size, stride, storage_offset = source.shape, source.stride(), source.storage_offset()
        if isinstance(source, TypedStorage):
            source = source.untyped()
        storage = storage_of(source) if isinstance(source, Tensor) else source
        if size is None:
            size = (storage.flat(self.dtype).shape[0],)
        strides = contiguous_strides(tuple(size)) if stride is None else stride
        array = as_strided(storage, tuple(size), tuple(strides), storage_offset, self.dtype)
        if self.extra is None:
            self.extra = Extra()
        self.extra.storage = storage
        set_array(self, array)
        return self  # type: ignore[no-any-return]

    def storage(self: Any) -> TypedStorage:
        """Return the storage shared with all views, as elements of the dtype. `untyped_storage` has it in bytes."""
        return TypedStorage(storage_of(self), self.dtype)

    def is_shared(self) -> bool:
        """Whether other processes share the memory: no."""
        return False

    def is_pinned(self, device: object = None) -> bool:
        """Whether the memory is pinned, for faster copies to a GPU: no."""
        return False

    def pin_memory(self: Any, device: object = None) -> Tensor:
        """Return the tensor itself: no memory is pinned."""
        return self  # type: ignore[no-any-return]


def _is_recording() -> bool:
    modes = active_modes()
    return modes is None or modes.mask & GRAD != 0


def _never(name: str) -> property:
    return property(lambda self: False, doc=f"Whether the tensor is one of PyTorch's kind {name}: there are none.")


for _kind in (
    "sparse",
    "sparse_csr",
    "quantized",
    "nested",
    "mkldnn",
    "xla",
    "mps",
    "xpu",
    "hpu",
    "ipu",
    "maia",
    "mtia",
):
    setattr(Tensor, f"is_{_kind}", _never(_kind))

BFloat16Tensor, BoolTensor, ByteTensor = TensorType(bfloat16), TensorType(bool_), TensorType(uint8)
CharTensor, ShortTensor, IntTensor = TensorType(int8), TensorType(int16), TensorType(int32)
LongTensor, HalfTensor = TensorType(int64), TensorType(float16)
FloatTensor, DoubleTensor = TensorType(float32), TensorType(float64)


def _new(cls: type[Tensor], *args: Any, **kwargs: Any) -> Any:
    """Make an instance, as `tensor_new` of the compiled core does."""
    return cast(Any, cls)._of_arguments(*args, **kwargs) if args or kwargs else object.__new__(cls)


if fast is None:
    Tensor.__new__ = _new  # type: ignore[method-assign,assignment]
