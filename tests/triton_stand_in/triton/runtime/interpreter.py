"""Kernels as Python functions, called once for each place of the grid."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from triton import language
from triton.runtime.jit import KernelInterface


class InterpretedFunction(KernelInterface):
    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> None:
        storages: dict[int, Any] = {}
        given = inspect.getcallargs(self.fn, *args, **kwargs)
        on_cpu = {name: _on_cpu(value, storages) for name, value in given.items()}
        arguments = {name: language.Pointer.to(value) for name, value in on_cpu.items()}
        sizes = grid(on_cpu) if callable(grid) else grid
        for place in itertools.product(*map(range, sizes)):
            language.place = place
            self.fn(**arguments)
        for name, value in given.items():
            if hasattr(value, "data_ptr"):
                value.untyped_storage().copy_(on_cpu[name].untyped_storage())


def _on_cpu(value: Any, storages: dict[int, Any]) -> Any:
    if not hasattr(value, "data_ptr"):
        return value
    storage = value.untyped_storage()
    copied = storages.setdefault(storage.data_ptr(), storage.cpu())
    made = value.new_empty(0, device="cpu")
    made.set_(copied, value.storage_offset(), value.size(), value.stride())
    return made
