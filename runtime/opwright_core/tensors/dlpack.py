"""DLPack capsules for dtypes that NumPy exports itself, and for bfloat16, which it does not know."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Array, backend_named
from opwright_core.arrays.dtypes import bfloat16
from opwright_core.tensors.tensor import Tensor, wrap

_CPU: Final = 1
_CUDA: Final = (2, 13)
_UNSIGNED: Final = 1
_BFLOAT: Final = 4
# Where the type code stands: after data, device and ndim of the DLTensor; a versioned capsule has four words before it.
_CODE_PLACE: Final = {b"dltensor": 20, b"dltensor_versioned": 52}

# NumPy 2.0 takes no options, and gives capsules without a version, which every consumer has to accept.
_HAS_NO_VERSIONS: Final = np.lib.NumpyVersion(np.__version__) < "2.1.0"

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]


def export(array: Array, options: dict[str, Any]) -> Any:
    """Return a capsule for an array; a bfloat16 one is exported as 16-bit words and then renamed."""
    if not hasattr(array, "__dlpack__"):
        raise BufferError(f"{type(array).__name__} does not speak DLPack")
    if _HAS_NO_VERSIONS and isinstance(array, np.ndarray):
        array, options = array.copy() if options.get("copy") else array, {}
    if array.dtype != bfloat16:
        return array.__dlpack__(**options)
    capsule = array.view(np.uint16).__dlpack__(**options)
    _type_code(capsule).value = _BFLOAT
    return capsule


def _type_code(capsule: Any) -> ctypes.c_uint8:
    name = _name_of(capsule)
    return ctypes.c_uint8.from_address(_pointer_of(capsule, name) + _CODE_PLACE[name])


class _Words:
    """A producer whose capsule says 16-bit words where it said bfloat16."""

    def __init__(self, capsule: Any, device: tuple[Any, int]) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._device


def load(source: Any, copy: bool | None = None) -> Array:
    """Return an array over any producer's memory, of NumPy or CuPy by where that is. Raises TypeError, BufferError."""
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack() expects an object with __dlpack__ and __dlpack_device__, got {type(source).__name__}"
        )
    kind = int(source.__dlpack_device__()[0])
    if kind in _CUDA:
        cupy = backend_named("cuda").array_module()
        return cupy.from_dlpack(source)
    if kind != _CPU:
        raise BufferError(f"from_dlpack() takes memory of the CPU and of CUDA devices, not DLPack device type {kind}")
    if hasattr(source, "is_neg") and source.is_neg():  # (PyTorch refuses conjugates itself)
        raise BufferError("Can't export tensors with the negative bit set: call resolve_neg() first")
    capsule = _capsule_of(source)
    is_bfloat = _type_code(capsule).value == _BFLOAT
    if is_bfloat:
        _type_code(capsule).value = _UNSIGNED
    array = np.from_dlpack(_Words(capsule, source.__dlpack_device__()))
    if is_bfloat:
        array = array.view(bfloat16)
    return array.copy() if copy else array


def _capsule_of(source: Any) -> Any:
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1.0
        pass
    return source.__dlpack__()


def versioned(tensor: Any) -> Any:
    """Return a tensor's capsule with the version of DLPack. Raises BufferError."""
    capsule = tensor.__dlpack__(max_version=(1, 3))
    if _name_of(capsule) != b"dltensor_versioned":
        raise BufferError(f"an array of {type(tensor.array).__name__} is exported by DLPack before 1.0 alone")
    return capsule


def tensor_of(capsule: Any, device: int) -> Tensor:
    """Return a Tensor on the memory of a capsule with the version of DLPack. Raises TypeError, BufferError."""
    return wrap(load(_Words(capsule, (device, 0))))


def current_stream(device: int, number: int) -> int:
    """Return the address of the stream that a device's work is put into. Raises BufferError for one not of CUDA."""
    if device not in _CUDA:
        raise BufferError(f"there are no streams of DLPack device type {device}")
    cuda = backend_named("cuda").array_module().cuda
    with cuda.Device(number):
        address: int = cuda.get_current_stream().ptr
    return address
