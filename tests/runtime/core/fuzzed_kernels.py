"""Random calls of the kernels in C, each beside the function that defines it: `fuzzed_kernels.py CALLS SEED`.

Arrays of any size, lying in any way, of any numbers; windows and convolutions of any options. Under sanitizers
(`runtime/opwright_core/fast/README.md`) every access beyond an array shows.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_calls import ELEMENTWISE, SHAPED, compiled_kernels, operands

Array = np.ndarray[Any, Any]
Rng = np.random.Generator


def laid(rng: Rng, array: Array) -> Array:
    """Return an array that lies otherwise: as it is, turned around, with gaps, repeated, transposed."""
    match int(rng.integers(6)):
        case 0 if array.ndim:
            return array[::-1]
        case 1 if array.ndim:
            return np.repeat(array, 2, axis=-1)[..., ::2]
        case 2 if array.ndim:
            return np.broadcast_to(array[:1], array.shape)
        case 3:
            return array.copy("F")
        case _:
            return array


def pool(rng: Rng, x: Callable[..., Array]) -> tuple[Any, ...]:
    """Return options of pooling, some of which fit no window."""
    kernel = [int(each) for each in rng.integers(1, 6, 2)]
    stride = [] if rng.random() < 0.3 else [int(each) for each in rng.integers(1, 5, 2)]
    padding = [int(rng.integers(0, each // 2 + 1)) for each in kernel]
    shape = [int(each) for each in rng.integers(1, 14, rng.integers(3, 5))]
    return x(*shape), kernel, stride, padding


def convolution(rng: Rng, x: Callable[..., Array]) -> tuple[Any, ...]:
    """Return the arguments of a convolution."""
    ndim = int(rng.integers(1, 3))
    groups = int(rng.integers(1, 4))
    each, kept = int(rng.integers(1, 3)), groups * int(rng.integers(1, 4))
    numbers = [[int(n) for n in rng.integers(low, high, ndim)] for low, high in ((1, 5), (1, 4), (0, 4), (1, 3))]
    kernel, stride, padding, dilation = numbers
    sizes = [int(n) for n in rng.integers(9, 20, ndim)]
    bias = x(kept) if rng.random() < 0.5 else None
    images = x(int(rng.integers(1, 4)), groups * each, *sizes)
    return np, images, x(kept, each, *kernel), bias, stride, padding, dilation, False, [0] * ndim, groups


def arguments(rng: Rng, name: str) -> tuple[Any, ...]:
    """Return arguments for a kernel."""
    dtype = "float32" if rng.random() < 0.6 else "float64"

    def x(*shape: int) -> Array:
        return operands(rng, shape, dtype, is_wild=rng.random() < 0.5)()

    if name in ELEMENTWISE:
        shape = tuple(int(each) for each in rng.integers(0, 40, rng.integers(0, 4)))
        make = ELEMENTWISE[name][rng.integers(len(ELEMENTWISE[name]))]
        return make(lambda: laid(rng, x(*shape)))
    if name == "max_pool2d":
        return np, *pool(rng, x), [int(each) for each in rng.integers(1, 3, 2)], bool(rng.integers(2))
    if name == "avg_pool2d":
        return np, *pool(rng, x), bool(rng.integers(2)), bool(rng.integers(2)), [None, 3, -1][rng.integers(3)]
    if name == "convolution":
        return convolution(rng, x)
    return SHAPED[name][rng.integers(len(SHAPED[name]))](lambda *shape: laid(rng, x(*shape)))


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the shapes and dtypes of results, or the kind of error."""
    try:
        results = function(*args)
    except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
        return type(error)
    results = results if isinstance(results, tuple) else (results,)
    return [None if each is None else (np.shape(each), np.asarray(each).dtype) for each in results]


def main(calls: int, seed: int) -> None:
    """Make so many calls."""
    warnings.simplefilter("ignore")
    rng, kernels = np.random.default_rng(seed), list(compiled_kernels())
    for number in range(calls):
        name, kernel = kernels[rng.integers(len(kernels))]
        args = arguments(rng, name)
        found, wanted = outcome(kernel, args), outcome(kernel.python, args)
        if found != wanted:
            sys.exit(f"call {number}: {name}{args[1:]} gives {found} instead of {wanted}")
    print(f"{calls} calls of {len(kernels)} kernels")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
