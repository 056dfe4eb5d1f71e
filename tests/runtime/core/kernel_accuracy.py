"""How far results of a kernel in C may be from those of the function that defines it: what rounding explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import seeds

from opwright_kernels.special_functions import bessel_jy

Array = np.ndarray[Any, Any]

# Of these both ways lose digits, each in its own way: beside zeros that are no floats, and far out.
LOOSE = {"lgamma": 5000, "digamma": 1e5, "gelu": 1000, "gelu_gradient": 4000, "silu_gradient": 1000, "logaddexp": 1000}
LOOSE |= {
    "erfcx": 200,
    "log_ndtr": 200,
    "igamma": 500,
    "igammac": 500,
    "mish_backward": 1000,
}  # exponentials of large numbers
LOOSE |= {f"{kind}chebyshev_polynomial_{each}": 1000 for kind in ("", "shifted_") for each in "tuvw"}
_WAVES = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
BOUNDS = {"float32": 3e-5, "float64": 1e-13}  # of rows and windows


def close(found: Array, wanted: Array, name: str, *args: Any) -> bool:
    """Whether two arrays are alike: NaN, infinities, shapes, and numbers but for some units in the last place, of the
    wave where they are points of one; what is LOOSE for so many more, and for as many of the operands."""
    assert type(found) is np.ndarray and found.dtype == wanted.dtype and found.shape == np.shape(wanted)
    last, bound = np.finfo(found.dtype).eps, np.finfo(found.dtype).tiny
    with np.errstate(all="ignore"):
        if name in LOOSE:
            sizes = [np.maximum(np.abs(each), 1) for each in args if isinstance(each, np.ndarray)]
            bound = bound + 4 * last * np.prod(sizes, axis=0)
        size = np.maximum(np.abs(wanted), _wave(name, args[1])) if name in _WAVES else np.abs(wanted)
        allowed = bound + (8 + LOOSE.get(name, 0)) * last * size
    return bool(_within(found, wanted, allowed).all())


def _wave(name: str, x: Array) -> Array:
    """Return how high the wave is at `x`: beside its zeros a function has the digits of the sum that makes it. 0 where
    it is no such sum."""
    size = np.abs(x).astype("float64")
    if name == "airy_ai":
        height, is_sum = size**-0.25, x < -2
    else:
        first, second = (getattr(bessel_jy, f"bessel_{each}{name[-1]}").python for each in "jy")
        height = np.hypot(first(np, size), second(np, size))
        is_sum = size > (5 if name.startswith("bessel_j") else 0)  # the zeros of J below are factors
    return np.where(is_sum & np.isfinite(height), height, 0)


def _within(found: Array, wanted: Array, allowed: Any) -> Array:
    with np.errstate(all="ignore"):
        near = np.abs(found.astype("longdouble") - wanted) <= allowed
    near &= np.isfinite(wanted)
    return np.asarray((found == wanted) | near | (np.isnan(found) & np.isnan(wanted)))


def assert_alike(kernel: Any, args: tuple[Any, ...]) -> None:
    """Compare a kernel's results with its function's. Where terms cancel, or a matrix is nearly singular, they may
    differ by what an error of the bound in the operands would make of it."""
    for number, (mine, other) in enumerate(zip(_results(kernel, args), _results(kernel.python, args), strict=True)):
        if other is None:
            assert mine is None
            continue
        mine, other = np.asarray(mine), np.asarray(other)  # (whether two are equal is no array)
        assert mine.shape == other.shape and mine.dtype == other.dtype
        bound = BOUNDS.get(str(mine.dtype), 0.0)
        allowed = bound * (1 + np.abs(other))
        if bound and not _within(mine, other, allowed).all():
            allowed = allowed + _changes(kernel.python, args, number, bound)
        good = _within(mine, other, allowed)
        assert good.all(), f"{mine[~good][:5]}, not {other[~good][:5]}, at {np.argwhere(~good)[:5].tolist()}"


def _results(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    found = function(*args)
    return found if isinstance(found, tuple) else (found,)


def _changes(function: Any, args: tuple[Any, ...], number: int, bound: float) -> Any:
    """Return how much one of the results changes where each operand has an error of `bound`, of either sign; drawn a
    few times, for one draw may hit an element by little."""
    rng = seeds.numpy_generator("errors of operands")
    wanted = _results(function, args)[number]
    moved = [_results(function, tuple(_moved(rng, each, bound) for each in args))[number] for _ in range(4)]
    with np.errstate(invalid="ignore"):
        return sum(np.nan_to_num(np.abs(each - wanted), posinf=0) for each in moved)


def _moved(rng: np.random.Generator, operand: Any, bound: float) -> Any:
    if not isinstance(operand, np.ndarray) or operand.dtype.kind != "f":
        return operand
    return (operand * (1 + bound * rng.choice([-1, 1], operand.shape))).astype(operand.dtype)
