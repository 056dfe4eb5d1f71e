"""CUDA devices, under the names of `torch.cuda`. CuPy does the work; without it there are none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from opwright_core.arrays.cuda_arrays import device_count
from opwright_core.arrays.devices import as_device
from opwright_core.random_state.generator import generator_of

__all__ = [
    "current_device", "device", "device_count", "empty_cache", "get_device_name", "is_available", "manual_seed",
    "manual_seed_all", "memory_allocated", "set_device", "synchronize",
]  # fmt: skip


def _runtime() -> ModuleType:
    """Return CuPy's interface to devices. Raises RuntimeError where there is no device."""
    if not is_available():
        raise RuntimeError("no CUDA device is available: it takes a GPU, its driver, and CuPy (opwright[cuda])")
    import cupy

    runtime: ModuleType = cupy.cuda
    return runtime


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return device_count() > 0


def _index(device: Any) -> int:
    """Return the number of a device; the current one for None and for a device without number."""
    if isinstance(device, int):
        return device
    index = None if device is None else as_device(device).index
    return current_device() if index is None else index


def current_device() -> int:
    """Return the number of the device that is used where none is named. Raises RuntimeError where there is none."""
    return int(_runtime().runtime.getDevice())


def set_device(device: Any) -> None:
    """Use a device where none is named. Raises RuntimeError where there is none."""
    _runtime().Device(_index(device)).use()


@contextlib.contextmanager
def device(device: Any) -> Iterator[None]:
    """Use a device, in the block, where none is named. Raises RuntimeError where there is none."""
    with _runtime().Device(_index(device)):
        yield


def synchronize(device: Any = None) -> None:
    """Wait until a device has done everything it was given. Raises RuntimeError where there is none."""
    _runtime().Device(_index(device)).synchronize()


def get_device_name(device: Any = None) -> str:
    """Return what a device is called. Raises RuntimeError where there is none."""
    name: bytes = _runtime().runtime.getDeviceProperties(_index(device))["name"]
    return name.decode()


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of a device that arrays take. Raises RuntimeError where there is none."""
    runtime = _runtime()
    with runtime.Device(_index(device)):
        import cupy

        return int(cupy.get_default_memory_pool().used_bytes())


def empty_cache() -> None:
    """Give memory that no array takes back to the device; nothing where there is none."""
    if is_available():
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; nothing where there is none."""
    if is_available():
        generator_of(f"cuda:{current_device()}").manual_seed(seed)
        generator_of("cuda").manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for index in range(device_count()):
        generator_of(f"cuda:{index}").manual_seed(seed)
    manual_seed(seed)
