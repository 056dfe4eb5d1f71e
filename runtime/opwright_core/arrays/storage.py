"""The memory behind tensors: one Storage for a tensor and all its views, and how a tensor comes by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from opwright_core.arrays.dense import nondense_bit
from opwright_core.arrays.devices import Array, Device, backend_named, backend_of
from opwright_core.arrays.dtypes import bfloat16, uint8
from opwright_core.arrays.layouts import Shape, span, surely_empty
from opwright_core.arrays.sizes import guard_or_true
from opwright_core.core import TensorBase
from opwright_core.keys import META, NONDENSE
from opwright_core.late_bound import late_bound


class PlainArrayError(RuntimeError):
    """An error where a plain array would have to take another shape."""


class Storage:
    """A flat buffer, found when something reaches beyond its own array, and the count of writes to it.

    `array` is the array the storage began with; `resizable` is false for memory that belongs to the caller
    (`from_numpy`). Growing it moves the data of the tensor that asked: views made before keep the old memory (PyTorch
    would move them along). `former` are the addresses at which that begins and ends, the oldest first: where one was
    used again, the view is of the newest, as nobody has the others any more.
    """

    __slots__ = ("__weakref__", "_flat", "array", "former", "has_detached", "has_views", "resizable", "version")

    def __init__(self, array: Array, resizable: bool = True) -> None:
        self.array = array
        self.version = 0
        self.has_detached = False  # whether `detach_` was called on one of the tensors over it
        self.has_views = False  # whether Python made a view: of memory that is not NumPy's, it makes all of them
        self.resizable = resizable
        self.former: tuple[tuple[int, int], ...] = ()
        self._flat: Array | None = None

    @property
    def device(self) -> Device:
        """Return the device of the memory."""
        return backend_of(self.array).device(self.array)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self.flat().nbytes  # type: ignore[no-any-return]

    def size(self) -> int:
        """Return the size in bytes, as PyTorch's storages without a dtype do."""
        return self.nbytes()

    def data_ptr(self) -> int:
        """Return the address; 0 if there is no byte, and on the meta device. Raises DataDependentOutputError for the
        memory that a fake tensor claims to have."""
        flat = self.flat()
        backend = backend_of(flat)
        if backend.key == META and self.device.type != "meta":
            raise late_bound.fakes().no_data(flat, ".data_ptr()")
        return backend.data_ptr(flat) if self.nbytes() else 0

    def flat(self, dtype: Any = None) -> Array:
        """Return all the elements as a 1-d array over the same memory; in another dtype, as many as fit."""
        flat = self._flat
        if flat is None:
            if not has_memory(self.array):
                raise RuntimeError(
                    f"backend {backend_of(self.array).name!r} has arrays and kernels alone, no memory to look at "
                    "otherwise: it needs a kernel of its own for this, such as aten::as_strided"
                )
            flat = self._flat = _flatten(self.array)
        if dtype is None or dtype == flat.dtype:
            return flat
        return flat.view(uint8)[: flat.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)

    def offset_of(self, array: Array) -> int:
        """Return how many elements lie before the first element of `array`."""
        if array is self.array and all(stride >= 0 for stride in backend_of(array).strides(array)):
            return 0
        backend = backend_of(array)
        if surely_empty(backend.shape(array)):
            return 0
        flat = self.flat() if has_memory(array) else self.array
        place, start = backend.data_ptr(array), backend.data_ptr(flat)
        if self.former and not start <= place < start + flat.nbytes:
            start = next(low for low, high in reversed(self.former) if low <= place < high)
        return (place - start) // backend.dtype(array).itemsize

    def __reduce__(self) -> tuple[Any, ...]:
        backend = backend_of(self.array)
        if backend.key == META:
            return Storage, (self.flat(), self.resizable)
        device = backend.device(self.array)
        return _restore, (device.type, device.index, backend.to_numpy(self._whole()), self.resizable)

    def _whole(self) -> Array:
        """Return an array of exactly this memory: the same object for all storages over it (`x` and `x.data`), by which
        a pickle knows that the memory is one."""
        owner, flat = self.array, self.flat()
        while type(owner.base) is np.ndarray:
            owner = owner.base
        for whole in (owner, self.array):
            if whole.nbytes == flat.nbytes and whole.dtype is flat.dtype and whole.flags.forc:
                return whole
        return flat

    def apart(self, version: int = 0) -> Storage:
        """Return the same memory, with a count of writes of its own."""
        if backend_of(self.array).key == META:
            self.array.root.constant = None  # no count says any more whether somebody wrote
        other = Storage(self.array, self.resizable)
        other.version = version
        other.has_views = self.has_views = True
        other._flat = self._flat
        other.former = self.former
        return other

    def replace(self, array: Array) -> None:
        """Go on with other memory: a resized tensor's."""
        if backend_of(array).key != META and has_memory(self.array):
            flat = self.flat()
            start = backend_of(flat).data_ptr(flat)
            self.former = (*self.former, (start, start + flat.nbytes))
        self.array = array
        self._flat = None


class PlainStorage(Storage):
    """The memory of a plain array that a call writes: it cannot take another shape."""

    __slots__ = ()

    def __init__(self, array: Array) -> None:
        super().__init__(array, resizable=False)


def _restore(kind: str, index: int | None, flat: np.ndarray[Any, Any], resizable: bool) -> Storage:
    return Storage(backend_named(kind).from_numpy(flat, index), resizable)


def has_memory(array: Array) -> bool:
    """Whether an array is of NumPy's kind: it has a module of functions, strides and an address. Others are what their
    backend's kernels say."""
    if type(array) is np.ndarray:
        return True
    try:
        backend_of(array).array_module()
    except NotImplementedError:
        return False
    return True


def _flatten(array: Array) -> Array:
    strides = backend_of(array).strides(array)
    low, high = span(array.shape, strides)
    if low < 0:
        array = array[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in strides)]
    return stride_over(array, (high - low + 1,), (1,))


def stride_over(array: Array, shape: Shape, strides: Shape) -> Array:
    """Return a view from the first element of a NumPy or CuPy array, of any shape and strides in elements.

    The caller checks the bounds.
    """
    steps = tuple([stride * array.itemsize for stride in strides])
    if type(array) is np.ndarray:
        return np.lib.stride_tricks.as_strided(array, shape, steps)
    return backend_of(array).array_module().ndarray(shape, array.dtype, array.data, steps)


def strided_view(flat: Array, shape: Shape, strides: Shape, offset: int = 0) -> Array:
    """Return a view into a 1-d contiguous NumPy or CuPy array; strides and offset in elements, for CuPy unchecked."""
    size = flat.itemsize
    steps = tuple([stride * size for stride in strides])
    if type(flat) is not np.ndarray:
        return backend_of(flat).array_module().ndarray(shape, flat.dtype, flat.data + offset * size, steps)
    if flat.dtype is bfloat16:  # no buffer format says bfloat16
        return np.ndarray(shape, np.uint16, flat.view(np.uint16), offset * size, steps).view(bfloat16)
    return np.ndarray(shape, flat.dtype, flat, offset * size, steps)


def new_array(shape: Shape, strides: Shape, dtype: Any, like: Array) -> Array:
    """Return uninitialised memory with exactly these dense strides, beside `like` (a NumPy or CuPy array)."""
    length = 1 if surely_empty(shape) else span(shape, strides)[1] + 1
    if type(like) is np.ndarray:
        return strided_view(np.empty(length, dtype), shape, strides)
    return strided_view(backend_of(like).array_module().empty_like(like, dtype, shape=(length,)), shape, strides)


def set_array(tensor: TensorBase, array: Array) -> None:
    """Give a tensor another array, and the private bit that follows from it."""
    tensor.array = array
    tensor.keys = tensor.keys & ~NONDENSE | nondense_bit(array)


def resize(tensor: TensorBase, shape: Shape, strides: Shape) -> None:
    """Give a tensor another shape over its own storage, which grows if it is too small.

    Raises RuntimeError if it must grow and belongs to the caller, PlainArrayError if it is a plain array.
    """
    array = tensor.array
    storage = storage_of(tensor)
    if isinstance(storage, PlainStorage):
        raise PlainArrayError(
            f"would have to resize a plain array from shape {tuple(array.shape)} to {tuple(shape)}; pass an array of "
            "that shape, or a Tensor"
        )
    if not has_memory(array):
        _resize_by_way_of_numpy(tensor, storage, shape, strides)
        return
    flat = storage.flat(array.dtype)
    offset = storage.offset_of(array)
    needed = 0 if surely_empty(shape) else offset + span(shape, strides)[1] + 1
    if guard_or_true(needed > flat.shape[0]):
        if not storage.resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        grown = new_array((needed,), (1,), array.dtype, array)
        grown[: flat.shape[0]] = flat
        storage.replace(grown)
        flat = grown
    set_array(tensor, strided_view(flat, shape, strides, 0 if surely_empty(shape) else offset))
    if (follow := getattr(tensor.edge, "follow", None)) is not None:  # of a leaf: where its gradient ends
        tensor.edge = follow(tensor)


def _resize_by_way_of_numpy(tensor: TensorBase, storage: Storage, shape: Shape, strides: Shape) -> None:
    """Give a tensor another shape where arrays are what kernels say: a new array, with the elements there are."""
    backend = backend_of(tensor.array)
    host = backend.to_numpy(tensor.array)
    resized = new_array(shape, strides, host.dtype, host)
    kept = min(host.size, resized.size)
    resized.flat[:kept] = host.flat[:kept]
    made = backend.from_numpy(resized, backend.index(tensor.array))
    storage.replace(made)
    set_array(tensor, made)


class Extra:
    """The rare parts of a tensor: the storage (once a view or a resize asks for it), the base of a view, the gradient.

    Only autograd looks into these, and there need not be any: of a view `seen`, the version that its history knows, and
    `creation`, why it must not be written to in a recorded call; when it left its graph, `detached`; where its gradient
    ended, `leaf`, while a leaf does not require grad; and the `tangent`.
    """

    __slots__ = ("base", "creation", "detached", "grad", "leaf", "seen", "storage", "tangent")
    storage: Storage | None
    base: Any  # a Tensor or None
    grad: Any  # a Tensor or None
    leaf: Any  # an `opwright.autograd.nodes.AccumulateGrad`
    seen: int
    creation: str
    detached: int  # the sequence of the next node
    tangent: Any  # an `opwright.autograd.tangents.Tangent`

    def __init__(self, storage: Storage | None = None, base: Any = None) -> None:
        self.storage = storage
        self.base = base
        self.grad = None
        if storage is not None and base is not None:
            self.seen = storage.version


def storage_of(tensor: TensorBase) -> Storage:
    """Return the tensor's storage, made when first asked for."""
    extra: Extra | None = tensor.extra
    if extra is None:
        extra = tensor.extra = Extra()
    storage = extra.storage
    if storage is None:
        storage = extra.storage = Storage(tensor.array)
    return storage
