"""Calls of the kernels that the compiled core has in C: arguments by the kernel's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import opwright_kernels
from opwright.core import fast

Array = np.ndarray[Any, Any]
Make = Callable[[Callable[..., Array]], tuple[Any, ...]]

CORNERS = [0.0, -0.0, 1, -1, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 20, 88.5, -88.5, 104, -104]


def compiled_kernels() -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of every kernel that has one in C."""
    folder = Path(opwright_kernels.__file__).parent
    for path in sorted(folder.glob("*.py")):
        module = import_module(f"opwright_kernels.{path.stem}")
        for name, found in vars(module).items():
            if fast is not None and type(found) is fast.Compiled and found.__module__ == module.__name__:
                yield name, found


def _one(*numbers: Any) -> list[Make]:
    return [lambda x: (np, x(), *numbers)]


def _two(*numbers: Any) -> list[Make]:
    return [lambda x: (np, x(), x(), *numbers)]


def _slope(*numbers: Any) -> list[Make]:
    return [lambda x: (x(), x(), *numbers)]


# What is given to each kernel: `x()` is an operand.
ELEMENTWISE: dict[str, list[Make]] = {
    **dict.fromkeys(("erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "silu", "mish"), _one()),
    **dict.fromkeys(("hardsigmoid", "hardswish", "fractional_part", "sign", "angle"), _one()),
    "logit": _one(None) + _one(0.1) + _one(0.75),
    "elu": _one(1.0, 1.0, 1.0) + _one(1.5, 1.1, 0.7) + _one(2, 3, 1),
    "leaky_relu": _one(0.01) + _one(-0.5) + _one(2),
    "softplus": _one(1, 20) + _one(2.5, 10.0),
    "gelu": _one("none") + _one("tanh"),
    "nan_to_num": _one(None, None, None) + _one(1.5, np.inf, -3),
    "lerp": _two(0.25) + _two(0.75) + _two(1) + _two(-3.0),
    "xlogy": _two(),
    "logaddexp": _two(),
    "addcmul": [lambda x: (np, x(), x(), x(), 1), lambda x: (np, x(), x(), x(), 0.3)],
    "addcdiv": [lambda x: (np, x(), x(), x(), 1), lambda x: (np, x(), x(), x(), 0.3)],
    "silu_gradient": _slope(),
    "gelu_gradient": _slope("none") + _slope("tanh"),
    "elu_gradient": _slope(1.7, 1.1, 0.8) + _slope(1.0, 1.0, 1.0),
}


def _softmax(dims: tuple[int, ...]) -> list[Make]:
    shapes = ((6, 40, 35), (3, 70, 1000))
    return [lambda x, dim=dim, shape=shape: (np, x(*shape), dim, False) for dim in dims for shape in shapes]


def _normed(*shape: int) -> list[Make]:
    """Return calls with weight and bias, with one of them, with none."""
    size = shape[-2:]
    return [
        lambda x, has=has: (np, x(*shape), list(size), *(x(*size) if each else None for each in has), 1e-5)
        for has in ((True, True), (True, False), (False, True), (False, False))
    ]


def _grouped(channels: int, groups: int, size: int) -> list[Make]:
    return [
        lambda x, has=has: (
            *(np, x(5, channels, size), x(channels) if has else None, x(channels) if has else None),
            *(5, channels, size, groups, 1e-5),
        )
        for has in (True, False)
    ]


# What is given to kernels of rows and windows: `x(*shape)` is an operand.
SHAPED: dict[str, list[Make]] = {
    "softmax": _softmax((0, 1, -1)),
    "log_softmax": _softmax((0, 1, -1)),
    "layer_norm": _normed(7, 1, 33) + _normed(5, 3, 1000) + _normed(2, 1),
    "group_norm_of_rows": _grouped(6, 2, 35) + _grouped(6, 3, 1) + _grouped(4, 1, 5000),
}


def operands(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, *, is_wild: bool) -> Callable[[], Array]:
    """Return a function that makes operands: of moderate numbers, or of all sizes and corners."""

    def make() -> Array:
        count = int(np.prod(shape))
        found = rng.normal(0, 2, count)
        if is_wild and count:
            found = np.where(rng.random(count) < 0.5, found * np.exp(rng.uniform(-60, 20, count)), found)
            found[rng.integers(0, count, count // 4)] = rng.choice(CORNERS, count // 4)
        return found.astype(dtype).reshape(shape)

    return make
