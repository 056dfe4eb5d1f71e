"""Samples of pointwise operators: arithmetic of two and three operands, bits, and the second names of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import samples_pointwise as pointwise
from sampling import (
    BOOL,
    COMPLEX64,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT8,
    INT32,
    INT64,
    INTEGERS,
    UINT8,
    Sample,
    arrays,
    bfloat16,
    make,
    pairs,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]
binary, unary, with_number, with_alpha = pointwise.binary, pointwise.unary, pointwise.with_number, pointwise.with_alpha


def three(number: bool = False) -> Iterator[Sample]:
    """Two arrays and a third or a number, in every dtype and many layouts."""
    for dtype in DTYPES:
        first, second, third = (make((2, 3), dtype, seed=seed, low=1) for seed in range(3))
        yield sample(first, second, 0.25 if number else third)
        yield sample(first, second, 2 if number else third[0])
    for dtype in (FLOAT32, bfloat16):
        for first, second in pairs(dtype, low=1):
            yield sample(first, second, 0.75 if number else make((), dtype, low=1))
    for dtype in (FLOAT32, FLOAT64):
        values = special(dtype)
        yield sample(values[:, None], values, 0.5 if number else values)
        yield sample(values[:, None], values, 1.0 if number else make((), dtype))
    yield sample(make((3,), FLOAT32), make((3,), FLOAT64), 0.5 if number else make((3,), FLOAT32))
    yield sample(make((3,), FLOAT32), make((3,), FLOAT32), 0.5 if number else make((3,), FLOAT64))


def with_value() -> Iterator[Sample]:
    """Three arrays and the factor `value`."""
    yield from three()
    for dtype in DTYPES:
        first, second, third = (make((2, 3), dtype, seed=seed, low=1) for seed in range(3))
        for value in (2, -1, 0.5, True, 1000):
            yield sample(first, second, third, value=value)


def shifted(samples: Samples = binary) -> Iterator[Sample]:
    yield from samples()
    for dtype in INTEGERS:
        bits = 8 * dtype.itemsize
        values = np.array([0, 1, 3, 100], dtype)
        yield sample(values[:, None], np.array([0, 1, bits - 1, bits, 120], dtype))
        if dtype != UINT8:
            yield sample(-values[:, None], np.array([0, 1, bits - 1, bits, -1, -120], dtype))


def shifted_by_number(first: bool = False) -> Iterator[Sample]:
    yield from with_number(0, 1, 3, 7, 2.5, True, first=first)


def divisors() -> Iterator[Sample]:
    """Pairs of integers, and of what is none."""
    for dtype in INTEGERS:
        yield sample(make((6,), dtype, low=-20, high=20)[:, None], make((6,), dtype, seed=1, low=-20, high=20))
        yield sample(np.array([0, 0, 12, 7], dtype), np.array([0, 5, 18, 0], dtype))
    for dtype in (INT64, INT32):
        yield from (sample(first, second) for first, second in pairs(dtype))
    yield sample(make((2, 3), UINT8), make((3,), INT8))
    for dtype in (BOOL, FLOAT32, COMPLEX64):
        yield sample(make((3,), dtype), make((3,), dtype))


def powers() -> Iterator[Sample]:
    yield from pointwise.power()
    yield from (sample(make((3,), dtype, low=1), make((3,), COMPLEX64)) for dtype in (FLOAT32, INT64))


def scaled() -> Iterator[Sample]:
    """`ldexp`: moderate exponents, and those that only the product can bear."""
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((3,), INT64))
        yield sample(make((2, 3), dtype), make((2, 3), dtype, seed=1))
    for dtype in (FLOAT32, INT64, bfloat16):
        yield from (sample(first, second) for first, second in pairs(dtype))
    values = special(FLOAT32)
    yield sample(values, np.array([3]))
    yield sample(np.array([1.0, 1e-45, 1e38], np.float32), np.array([-149, 149, -200]))
    yield sample(np.array([1.0, 5e-324]), np.array([-1074, 1074]))


def parts() -> Iterator[Sample]:
    """Real and imaginary parts, or lengths and angles."""
    for dtype in DTYPES:
        if dtype != FLOAT16:  # which makes complex32
            yield sample(make((2, 3), dtype), make((3,), dtype, seed=1))
    yield from (sample(first, second) for first, second in pairs(FLOAT32))
    yield sample(make((3,), FLOAT32), make((3,), FLOAT64))


def members(first: bool = True, second: bool = True) -> Iterator[Sample]:
    """`isin` with arrays for the operands that are True here, numbers for the others."""
    for dtype in DTYPES:
        for options in ({}, {"invert": True}):
            one, other = make((2, 3), dtype), make((4,), dtype, seed=1)
            yield sample(one if first else 2, other if second else 2, **options)
    for array in arrays((FLOAT32, INT64)):
        yield sample(array if first else 0.5, make((2, 2), array.dtype, seed=1) if second else 1.5)
    values = special(FLOAT32)
    yield sample(values if first else float("nan"), values if second else float("nan"))
    yield sample(make((0,), FLOAT32) if first else 1, make((0,), FLOAT32) if second else 1)
    yield sample(make((3,), INT32) if first else 1.0, make((30,), FLOAT32) if second else 1.0)


def replaced() -> Iterator[Sample]:
    """`nan_to_num` with and without values to put in."""
    yield from unary()
    for dtype in (*FLOATS, COMPLEX64, INT64):
        yield sample(special(dtype), 1.5, 7.0, -7.0)
        yield sample(special(dtype), posinf=3.0)
    for number in (np.nan, np.inf, -np.inf):
        yield sample(np.array([complex(number, 1), complex(2, number)], COMPLEX64))


def second_names() -> dict[str, Samples]:
    """Aliases get the samples of the operators that they stand for."""
    found: dict[str, Samples] = {}
    for alias, name in (("true_divide", "div"), ("divide", "div"), ("multiply", "mul"), ("subtract", "sub")):
        for overload in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode"):
            if f"{name}.{overload}" in pointwise.SAMPLES and (alias == "divide" or "mode" not in overload):
                found[f"{alias}.{overload}"] = pointwise.SAMPLES[f"{name}.{overload}"]
    for alias, name in (
        ("not_equal", "ne"), ("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"),
        ("__and__", "bitwise_and"), ("__or__", "bitwise_or"), ("__xor__", "bitwise_xor"),
    ):  # fmt: skip
        for overload in ("Tensor", "Scalar"):
            found[f"{alias}.{overload}"] = pointwise.SAMPLES[f"{name}.{overload}"]
    return found


SAMPLES: dict[str, Samples] = {
    **second_names(),
    **dict.fromkeys(
        ("fmax", "fmin", "hypot", "copysign.Tensor", "nextafter", "heaviside", "logaddexp", "logaddexp2", "arctan2"),
        binary,
    ),
    "fmod.Tensor": partial(pointwise.dividing, binary),
    "fmod.Scalar": partial(pointwise.dividing, partial(with_number, 1, 2, -3, 2.5, 0, True)),
    "copysign.Scalar": with_number,
    "clip": pointwise.clamp_numbers,
    "clip.Tensor": pointwise.clamp_arrays,
    **dict.fromkeys(("clamp_min", "clamp_max"), with_number),
    **dict.fromkeys(("clamp_min.Tensor", "clamp_max.Tensor"), binary),
    "lerp.Scalar": partial(three, True),
    "lerp.Tensor": three,
    **dict.fromkeys(("addcmul", "addcdiv"), with_value),
    "ldexp.Tensor": scaled,
    "float_power.Tensor_Tensor": powers,
    "float_power.Tensor_Scalar": partial(with_number, 0, 1, 2, 0.5, -1, True, 1j),
    "float_power.Scalar": partial(with_number, 1, 2, 2.5, -1.5, True, 1j, first=True),
    **dict.fromkeys(("gcd", "lcm"), divisors),
    **dict.fromkeys(
        (f"{name}.Tensor" for name in ("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")),
        shifted,
    ),
    **dict.fromkeys(
        ("bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar", "__lshift__.Scalar",
         "__rshift__.Scalar"),
        shifted_by_number,
    ),
    **dict.fromkeys(
        ("bitwise_left_shift.Scalar_Tensor", "bitwise_right_shift.Scalar_Tensor"), partial(shifted_by_number, True)
    ),
    **dict.fromkeys(("complex", "polar"), parts),
    "isin.Tensor_Tensor": members,
    "isin.Tensor_Scalar": partial(members, True, False),
    "isin.Scalar_Tensor": partial(members, False, True),
    "nan_to_num": replaced,
    **dict.fromkeys(
        (
            "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "arcsin", "arccos", "arctan", "arcsinh",
            "arccosh", "arctanh", "exp2", "log10", "deg2rad", "rad2deg", "frac", "sgn", "angle", "_conj_physical",
            "conj_physical", "conj", "resolve_conj", "resolve_neg", "is_conj", "is_neg", "isinf", "isposinf",
            "isneginf", "isreal", "signbit", "positive", "negative", "absolute", "fix",
        ),
        unary,
    ),
}  # fmt: skip
