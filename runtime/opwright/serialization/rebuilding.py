"""The names that a file may have, and functions of ours that make what they mean: each checks its arguments first."""

from __future__ import annotations

import math
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np

from opwright.methods.pickling import _from_numpy, _over_storage, _with_attributes
from opwright.serialization.containers import CONTAINERS, Refused, counts, is_count, require, text_as_bytes
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import CANONICAL, INEXACT, bfloat16, bool_, uint8
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.arrays.size import Size
from opwright_core.arrays.storage import Storage
from opwright_core.arrays.storage import _restore as _storage_as_saved
from opwright_core.names.late_imports import import_late
from opwright_core.random_state.generator import Generator
from opwright_core.tensors.tensor import Tensor

__all__ = ["CALLS", "NAMES", "UNFILLED", "fill_array", "fill_dtype"]

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_MOST_BYTES: Final = sys.maxsize


# dtypes. By name from a list; a fresh object each, since `fill_dtype` gives it its byte order.
_CODES: Final = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
_WIDEST: Final = (np.dtype(np.longdouble), np.dtype(np.clongdouble))
_BY_CODE: Final = {f"{dtype.kind}{dtype.itemsize}": dtype for dtype in (*_WIDEST, *map(np.dtype, _CODES))}


def _dtype(name: Any, align: Any = False, copy: Any = True) -> DType:
    if name is ml_dtypes.bfloat16:
        return bfloat16
    require(type(name) is str, "a dtype without a name")
    if name[:1] in ("U", "S") and name[1:].isdecimal() and len(name) < 8:
        text: DType = np.dtype(np.dtype(name), copy=True)
        return text
    found: DType | None = _BY_CODE.get(name)
    require(found is not None, f"the dtype {name!r:.40}: {', '.join(_BY_CODE)}, bfloat16, U and S of a length are read")
    return np.dtype(found, copy=True)


def fill_dtype(dtype: DType, state: tuple[Any, ...]) -> None:
    """Give a dtype the byte order that its state says. Refuse fields, shapes, flags and metadata."""
    require(len(state) == 8 and state[0] == 3 and state[2:5] == (None, None, None), "a dtype with fields or a shape")
    order, size = state[1], state[5]
    require(order in ("<", ">", "|", "="), "a dtype of an unknown byte order")
    require(size in (-1, dtype.itemsize), f"a dtype {dtype.str} whose items have another size")
    require(type(state[7]) is int and not state[7] & ~_HARMLESS_FLAGS, "a dtype with flags of its own")
    native = "<" if sys.byteorder == "little" else ">"
    if order in "<>" and order != native:
        require(dtype is not bfloat16, "bfloat16 of another byte order")
        sizes = (dtype.itemsize, dtype.alignment) if dtype.kind in "US" else (-1, -1)
        dtype.__setstate__((3, order, None, None, None, *sizes, 0))  # type: ignore[attr-defined]


_HARMLESS_FLAGS: Final = 0x8 | 0x40  # text that needs an interpreter to be changed, bfloat16's own: they are not set


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) and (value == bfloat16 or value.kind in "biufcUS")


def _own_dtype(value: Any) -> DType:
    """Return a dtype that tensors have."""
    found = CANONICAL.get(value) if isinstance(value, np.dtype) else None
    require(found is not None, "a tensor of a dtype that tensors do not have")
    return found  # type: ignore[return-value]


def _check_values(array: Array) -> None:
    """Refuse bytes that are no values: NumPy counts bools by adding them up, and text by its code points."""
    if array.dtype == bool_:
        require(not array.size or int(_bytes_of(array).max()) <= 1, "bools other than 0 and 1")
    if array.dtype.kind == "U":
        points = np.frombuffer(array.tobytes(), array.dtype.newbyteorder("=").str[0] + "u4")
        points = points if array.dtype.isnative else points.byteswap()
        require(not points.size or int(points.max()) <= 0x10FFFF, "text that is no Unicode")


def _bytes_of(array: Array) -> Array:
    return np.frombuffer(array.tobytes("A"), uint8)


# Arrays. `numpy.ndarray` itself is never called: it makes arrays over whatever a file says is memory.
def _empty_array(kind: Any, shape: Any, code: Any) -> Array:
    require(kind is np.ndarray and shape == (0,) and code in (b"b", "b"), "an array that numpy did not write")
    return np.empty(0, np.int8)


def fill_array(array: Array, state: tuple[Any, ...]) -> None:
    """Give an array the shape, dtype and data that its state says, which must be as many as that takes."""
    require(len(state) == 5 and state[0] == 1 and type(state[3]) is bool, "an array of a version that is not known")
    _, shape, dtype, is_fortran, data = state
    require(_is_dtype(dtype) and type(data) is bytes, "an array without a dtype or data")
    require(type(shape) is tuple, "an array without a shape")
    _check_length(counts(shape, "sizes of an array"), dtype, data)
    array.__setstate__((1, shape, dtype, is_fortran, bytes(memoryview(data))))  # (NumPy writes into what it is given.)
    _check_values(array)


def _check_length(shape: tuple[int, ...], dtype: DType, data: bytes | bytearray) -> None:
    require(dtype.itemsize > 0, "an array of items without size")
    require(math.prod(max(size, 1) for size in shape) * dtype.itemsize <= _MOST_BYTES, "an array too large")
    needed = math.prod(shape) * dtype.itemsize
    require(needed == len(data), f"an array of {needed} bytes with {len(data)} bytes of data")


def _array_over(data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> Array:
    require(type(data) in (bytes, bytearray) and _is_dtype(dtype), "an array without a dtype or data")
    require(type(shape) is tuple and type(order) is str and order in ("C", "F", "K"), "an array without a shape")
    _check_length(counts(shape, "sizes of an array"), dtype, data)
    flat: Array = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
    _check_values(flat)
    if order == "K" and axes is not None:
        require(type(axes) is tuple and all(map(is_count, axes)), "an array whose axes are no tuple")
        require(sorted(axes) == list(range(len(shape))), "an array whose axes are no permutation")
        return flat.reshape(shape).transpose(axes)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _number(dtype: Any, data: Any) -> Any:
    require(_is_dtype(dtype) and type(data) is bytes and len(data) == dtype.itemsize > 0, "a number without data")
    array: Array = np.frombuffer(data, dtype)
    _check_values(array)
    return array[0]


# Tensors.
def _storage(kind: Any, index: Any, flat: Any, resizable: Any) -> Storage:
    device = _device(kind, index)
    require(type(flat) is np.ndarray and flat.flags.forc, "a storage that is not dense")
    require(type(resizable) is bool, "a storage that does not say whether it grows")
    flat = flat.astype(_own_dtype(flat.dtype), copy=not flat.flags.writeable)
    return _storage_as_saved(device.type, device.index, flat, resizable)


def _tensor(storage: Any, shape: Any, strides: Any, offset: Any, dtype: Any, requires_grad: Any) -> Tensor:
    dtype = _own_dtype(dtype)
    require(type(storage) is Storage and is_count(offset), "a tensor without a storage")
    shape, strides = counts(shape, "sizes of a tensor"), counts(strides, "strides of a tensor")
    require(len(shape) == len(strides), "a tensor with more strides than sizes, or fewer")
    _check_grad(requires_grad, dtype)
    bytes_of_all = math.prod(max(size, 1) for size in shape) * dtype.itemsize
    require(bytes_of_all <= _MOST_BYTES, f"a tensor too large, of {bytes_of_all} bytes")
    flat = storage.flat()
    if 0 not in shape:
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        require((last + 1) * dtype.itemsize <= flat.nbytes, "a tensor out of bounds of its storage")
    else:  # strides of no elements mean nothing, and NumPy multiplies them
        require(all(stride * dtype.itemsize <= _MOST_BYTES for stride in strides), "strides of a tensor too large")
    made = _over_storage(storage, Size(shape), strides, offset, dtype, requires_grad)
    if dtype == bool_ and flat.dtype != bool_ and type(made.array) is np.ndarray:
        _check_values(np.asarray(storage.flat(bool_)))
    return made


def _tensor_of_array(kind: Any, index: Any, array: Any, requires_grad: Any) -> Tensor:
    device = _device(kind, index)
    require(type(array) is np.ndarray, "a tensor without an array")
    _check_grad(requires_grad, _own_dtype(array.dtype))
    return _from_numpy(device.type, device.index, array, requires_grad)


def _tensor_with_attributes(given: Any, rebuild: Any, arguments: Any) -> Tensor:
    is_ours = rebuild is _tensor or rebuild is _tensor_of_array
    require(is_ours and type(arguments) is tuple, "attributes of no tensor")
    _check_attributes(given)
    return _with_attributes(given, rebuild, arguments)


def _check_attributes(given: Any) -> None:
    require(type(given) is dict and all(type(name) is str for name in given), "attributes without names")
    for name in given:
        require(name.isidentifier() and not hasattr(Tensor, name), f"an attribute {name!r:.40} of a tensor")


def _parameter(data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    require(type(data) is Tensor and type(hooks) is OrderedDict and not hooks, "a parameter that is no tensor")
    _check_grad(requires_grad, data.dtype)
    made: Tensor = import_late("opwright.torch_names.parameters").rebuild_parameter(data, requires_grad, hooks)
    return made


def _parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Tensor:
    _check_attributes(state)
    made = _parameter(data, requires_grad, hooks)
    for name, value in state.items():
        require(not hasattr(made, name), f"an attribute {name!r:.40} of a parameter")
        setattr(made, name, value)
    return made


def _check_grad(requires_grad: Any, dtype: DType) -> None:
    require(type(requires_grad) is bool, "a tensor that does not say whether it requires grad")
    require(not requires_grad or dtype in INEXACT, "a tensor of ints that requires grad")


def _generator(device: Any, state: Any) -> Generator:
    require(isinstance(device, Device) and type(state) is np.ndarray, "a generator without a state")
    try:
        return Generator(device).set_state(state)
    except RuntimeError as error:
        raise Refused(f"a generator of no state: {error}") from None


def _device(kind: Any, index: Any = None) -> Device:
    require(type(kind) is str and len(kind) < 100, "a device without a name")
    require(index is None or (is_count(index) and index < 2**31), "a device of no number")
    try:
        return Device(kind, index)
    except RuntimeError as error:
        raise pickle.UnpicklingError(f"the file has a device that is not here: {error}") from None


def _member(kind: type[Layout] | type[MemoryFormat]) -> Callable[[Any], Any]:
    def made(name: Any) -> Any:
        found = {each.value: each for each in kind}.get(name) if type(name) is str else None
        require(found is not None, f"a {kind.__name__} that there is not")
        return found

    return made


# What a name of a file stands for. Classes stand for themselves where they may be values of their own
# (`defaultdict(list)`); functions are ours. Nothing here is called but by way of CALLS.
NAMES: Final[dict[tuple[str, str], Any]] = {
    **{("builtins", kind.__name__): kind for kind in (complex, set, frozenset, range, slice)},
    **{("builtins", kind.__name__): kind for kind in (list, dict, tuple, bytes, bytearray)},
    ("builtins", "xrange"): range, ("_codecs", "encode"): text_as_bytes,  # as protocol 2 writes range and bytes
    ("collections", "OrderedDict"): OrderedDict, ("collections", "defaultdict"): defaultdict,
    ("collections", "Counter"): Counter,
    ("numpy", "dtype"): _dtype, ("numpy", "ndarray"): np.ndarray, ("ml_dtypes", "bfloat16"): ml_dtypes.bfloat16,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array, ("numpy._core.multiarray", "scalar"): _number,
    ("numpy._core.numeric", "_frombuffer"): _array_over, ("opwright_core.arrays.storage", "_restore"): _storage,
    ("opwright.methods.pickling", "_over_storage"): _tensor,
    ("opwright.methods.pickling", "_with_attributes"): _tensor_with_attributes,
    ("opwright.methods.pickling", "_from_numpy"): _tensor_of_array, ("opwright_core.arrays.devices", "Device"): Device,
    ("opwright_core.arrays.formats", "Layout"): Layout, ("opwright_core.arrays.formats", "MemoryFormat"): MemoryFormat,
    ("opwright.torch_names.parameters", "rebuild_parameter"): _parameter,
    ("opwright.torch_names.parameters", "rebuild_parameter_with_state"): _parameter_with_state,
    ("opwright_core.random_state.generator", "_restore"): _generator, ("opwright_core.arrays.size", "Size"): Size,
}  # fmt: skip
CALLS: Final[dict[Any, Callable[..., Any]]] = {
    **{function: function for function in NAMES.values() if not isinstance(function, type)},
    **CONTAINERS, Device: _device, Layout: _member(Layout), MemoryFormat: _member(MemoryFormat),
}  # fmt: skip
# What these make is complete after BUILD alone.
UNFILLED: Final = frozenset([_dtype, _empty_array])
