"""PyTorch's tensors, dtypes, devices and generators as ours, and back. Memory is shared, never copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from opwright_core.arrays import dtypes, formats
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["array_of", "our_dtype", "our_tensor", "our_value", "torch_dtype", "torch_tensor", "torch_value"]

_NAMES: Final = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
_OURS: Final[dict[torch.dtype, DType]] = {
    getattr(torch, name): getattr(dtypes, "bool_" if name == "bool" else name)
    for name in _NAMES
    if hasattr(torch, name) and hasattr(dtypes, "bool_" if name == "bool" else name)
}
_TORCHS: Final[dict[DType, torch.dtype]] = {ours: theirs for theirs, ours in _OURS.items()}
# Dtypes that NumPy has from ml_dtypes: passed on as integers of the same size.
_PASSED_AS: Final = {2: (torch.int16, np.int16), 1: (torch.uint8, np.uint8)}
_FOREIGN: Final = {theirs: ours for theirs, ours in _OURS.items() if hasattr(ml_dtypes, ours.name)}
# A capsule of DLPack 1.0 leaves memory resizable, `Tensor.numpy()` does not. NumPy 2.0 and older PyTorch lack it.
_EXPORTED: Final = getattr(torch._C, "_to_dlpack_versioned", None) if hasattr(np, "unstack") else None
_LAYOUTS: Final = {torch.strided: formats.Layout.strided}
_FORMATS: Final = {
    torch.contiguous_format: formats.MemoryFormat.contiguous_format,
    torch.preserve_format: formats.MemoryFormat.preserve_format,
    torch.channels_last: formats.MemoryFormat.channels_last,
    torch.channels_last_3d: formats.MemoryFormat.channels_last_3d,
}


def our_tensor(tensor: torch.Tensor) -> Tensor:
    """Return a Tensor on the memory of PyTorch's. Raises TypeError for a dtype or a device that we do not have."""
    if tensor.is_cuda:
        return wrap(_cupy().from_dlpack(tensor.detach()))
    foreign = _FOREIGN.get(tensor.dtype)
    if foreign is not None:
        return wrap(array_of(tensor.detach().view(_PASSED_AS[foreign.itemsize][0])).view(foreign))
    if tensor.dtype not in _OURS:
        raise TypeError(f"Opwright has no dtype {tensor.dtype}")
    return wrap(array_of(tensor))


class _Memory:
    """The memory of a tensor on the CPU, for NumPy."""

    __slots__ = ("capsule",)
    capsule: Any

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return an array on the memory of a tensor on the CPU, which stays resizable. Raises what PyTorch raises."""
    plain = tensor.detach()
    if _EXPORTED is None or plain.is_neg() or plain.is_conj() or plain.layout != torch.strided:
        array: np.ndarray[Any, Any] = plain.numpy()  # (it refuses values that are not in memory as they are)
        return array
    memory = _Memory()
    memory.capsule = _EXPORTED(plain)
    return np.from_dlpack(memory)


def torch_tensor(tensor: Tensor) -> torch.Tensor:
    """Return PyTorch's tensor on the memory of a Tensor."""
    array = tensor.array
    if type(array) is not np.ndarray:
        return from_dlpack(array)
    if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
        array = array.copy()
    base = array.base
    if type(base) is np.ndarray and base.dtype == array.dtype and base.flags.c_contiguous and base.flags.writeable:
        return _within(array, base)
    return _on_memory(array)


def _on_memory(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if array.dtype in _FOREIGN.values():
        return torch.from_numpy(array.view(_PASSED_AS[array.dtype.itemsize][1])).view(_TORCHS[array.dtype])
    return torch.from_numpy(array)


def _within(array: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return PyTorch's tensor of a part of an array, on the storage of the whole array."""
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    size = array.itemsize
    if offset % size or any(stride % size for stride in array.strides):
        return _on_memory(array)
    return _on_memory(base.reshape(-1)).as_strided(
        array.shape, [stride // size for stride in array.strides], offset // size
    )


def torch_dtype(dtype: DType) -> torch.dtype:
    """Return PyTorch's dtype. Raises TypeError for one that it does not have."""
    try:
        return _TORCHS[dtype]
    except KeyError:
        raise TypeError(f"PyTorch has no dtype {dtype}") from None


def our_value(type_name: str) -> Callable[[Any], Any] | None:
    """Return what makes PyTorch's value for an argument of this type ours; None where it is ours as it is."""
    return _CONVERTERS.get(type_name.removeprefix("Optional[").removesuffix("]"))


def torch_value(value: Any) -> Any:
    """Return a result that is no tensor as PyTorch's."""
    return value.item() if isinstance(value, np.generic) else value


def our_dtype(dtype: torch.dtype | None) -> Any:
    """Return our dtype, None for None. Raises TypeError for one that we do not have."""
    if dtype is None:
        return None
    try:
        return _OURS[dtype]
    except KeyError:
        raise TypeError(f"Opwright has no dtype {dtype}") from None


def _our_device(device: Any) -> Any:
    return None if device is None else Device(str(device))


def _refuse_generator(generator: Any) -> Any:
    if generator is not None:
        raise TypeError(
            "a generator of PyTorch cannot be used by Opwright: leave it out, and call opwright.manual_seed"
        )
    return None


_CONVERTERS: Final[dict[str, Callable[[Any], Any]]] = {
    "ScalarType": our_dtype,
    "Device": _our_device,
    "Layout": lambda layout: None if layout is None else _LAYOUTS[layout],
    "MemoryFormat": lambda form: None if form is None else _FORMATS[form],
    "Generator": _refuse_generator,
}


def _cupy() -> Any:
    import cupy

    return cupy
