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
