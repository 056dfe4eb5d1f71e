"""A stand-in for Triton with its interpreter: what `triton_kernels_program.py` needs of it, on NumPy.

Kernels are Python functions of addresses. Arguments go through the calls that Triton's own interpreter makes: it copies
storages to the CPU, sets new tensors to them, and copies back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton import language as language
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import Autotuner


def cdiv(x: int, y: int) -> int:
    return -(-x // y)


def jit(function: Callable[..., None]) -> InterpretedFunction:
    return InterpretedFunction(function)


class Config:
    def __init__(self, kwargs: dict[str, Any]) -> None:
        self.kwargs = kwargs


def autotune(configs: list[Config], key: list[str]) -> Callable[[Any], Autotuner]:
    return lambda kernel: Autotuner(kernel, configs[0].kwargs)
