"""Samples of pointwise operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

import numpy as np
from sampling import (
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    Sample,
    arrays,
    bfloat16,
    expanded,
    laid_out,
    make,
    pairs,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]


def unary() -> Iterator[Sample]:
    for array in arrays():
        yield sample(array)
    for dtype in DTYPES:
        yield sample(special(dtype))


def same_dtypes(specials: bool = True) -> Iterator[Sample]:
    """Every dtype with itself, and special values with each other."""
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((2, 3), dtype, seed=1))
        if specials:
            values = special(dtype)
            yield sample(values[:, None], values)


def every_dtype_pair() -> Iterator[Sample]:
    """All dtype pairs: both arrays, and either of them 0-dim, which then decides less."""
    for first, second in product(DTYPES, DTYPES):
        yield sample(make((3,), first), make((3,), second, seed=1, low=1))
        yield sample(make((3,), first), make((), second, seed=1, low=1))


def binary(specials: bool = True) -> Iterator[Sample]:
    yield from same_dtypes(specials)
    for dtype in (FLOAT32, INT64, bfloat16):
        yield from (sample(first, second) for first, second in pairs(dtype, low=1))
    for first, second in ((INT32, FLOAT32), (FLOAT16, bfloat16), (UINT8, INT8), (FLOAT32, FLOAT64), (BOOL, INT8)):
        yield sample(make((2, 3), first, low=1), make((3,), second, seed=1, low=1))
        yield sample(make((), second, low=1), make((2, 3), first, seed=1, low=1))


def promoting() -> Iterator[Sample]:
    yield from binary()
    yield from every_dtype_pair()


NUMBERS = (0, 1, 2, -3, 2.5, True, float("inf"), float("nan"))


def with_number(*numbers: complex, first: bool = False) -> Iterator[Sample]:
    """An array of every dtype with numbers, the number first if `first`."""
    for array in arrays():
        given: tuple[complex, ...] = (2, 0.5)
        if array.shape == (2, 3):
            given = numbers or NUMBERS
        yield from (sample(number, array) if first else sample(array, number) for number in given)


def with_alpha(number: bool) -> Iterator[Sample]:
    yield from with_number() if number else binary()
    for dtype in DTYPES:
        array = make((2, 3), dtype)
        other = 3 if number else make((2, 3), dtype, seed=1)
        for alpha in (2, -1, 0.5, True, 1000):
            yield Sample((array, other, alpha) if number else (array, other), {} if number else {"alpha": alpha})


def dividing(samples: Samples) -> Iterator[Sample]:
    """Without pairs of integers whose quotient does not fit, which stop the process that divides them."""
    for each in samples():
        arrays_ = [arg for arg in each.args if isinstance(arg, np.ndarray)]
        if any(array.dtype.kind == "i" and (array == np.iinfo(array.dtype).min).any() for array in arrays_):
            continue
        yield each


def _with_modes(samples: Samples) -> Iterator[Sample]:
    for each in dividing(samples):
        for mode in (None, "floor", "trunc"):
            yield Sample(each.args, {"rounding_mode": mode})
    yield sample(make((3,), FLOAT32), make((3,), FLOAT32), rounding_mode="up")


def power() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((2, 3), dtype, seed=1, low=0, high=4))
        yield sample(make((2, 3), dtype), make((2, 3), dtype, seed=1, low=-3, high=4))
    for dtype in (FLOAT32, INT64, bfloat16):
        yield from (sample(first, second) for first, second in pairs(dtype, low=0, high=4))
    for dtype in (FLOAT32, FLOAT64):
        values = special(dtype)
        yield sample(values[:, None], values)
    yield sample(make((2, 3), INT32), make((3,), FLOAT32))


def clamp_numbers() -> Iterator[Sample]:
    for array in (*arrays(), *(special(dtype) for dtype in DTYPES)):
        for low, high in ((-1, 2), (None, 1), (0.5, None), (3, -3), (float("nan"), None)):
            yield sample(array, low, high)
    yield sample(make((3,), FLOAT32))


def clamp_arrays() -> Iterator[Sample]:
    for dtype in DTYPES:
        array, low, high = (make((2, 3), dtype, seed=seed) for seed in range(3))
        yield from (sample(array, low, high), sample(array, low), sample(array, None, high))
    yield sample(make((2, 3), INT32), make((3,), FLOAT32), None)
    for first, second in pairs(FLOAT32):
        yield sample(first, second, make((), FLOAT32))


def where_samples(first: bool, second: bool) -> Iterator[Sample]:
    """`where` with arrays for the operands that are True here, numbers for the others."""
    for dtype in DTYPES:
        for number in (2, 0.5):
            condition = make((2, 3), BOOL)
            one = make((2, 3), dtype) if first else number
            other = make((3,), dtype, seed=1) if second else number
            yield sample(condition, one, other)
            if not (first and not second) and not (second and not first):
                break
    for mask, other in pairs(FLOAT32):
        yield sample(np.asarray(mask > 0), other if first else 1.5, mask if second else 2)
    yield sample(make((2, 3), UINT8), make((2, 3), FLOAT32) if first else 1, make((2, 3), FLOAT32) if second else 1)
    yield sample(make((2, 3), INT64), make((2, 3), FLOAT32) if first else 1, make((2, 3), FLOAT32) if second else 1)


def where_all_pairs() -> Iterator[Sample]:
    yield from where_samples(True, True)
    for each in every_dtype_pair():
        yield sample(np.array([True, False, True]), *each.args)


def rounded() -> Iterator[Sample]:
    for array in arrays():
        for decimals in (0, 1, -1):
            yield sample(array, decimals=decimals)


def gelu() -> Iterator[Sample]:
    for each in unary():
        yield from (each, Sample(each.args, {"approximate": "tanh"}))
    yield sample(make((3,), FLOAT32), approximate="best")


def close() -> Iterator[Sample]:
    for dtype in DTYPES:
        array = make((2, 3), dtype)
        yield sample(array, array.copy())
        yield sample(array, make((2, 3), dtype, seed=1), 0.5, 0.1)
        values = special(dtype)
        yield from (sample(values[:, None], values), sample(values, values.copy(), 0.0, 0.0))
        yield from (sample(values, values.copy(), equal_nan=True), sample(array, array + array.dtype.type(1), 0.3, 0.0))
    yield sample(make((3,), FLOAT32), make((3,), FLOAT64))


def equal() -> Iterator[Sample]:
    for dtype in DTYPES:
        array = make((2, 3), dtype)
        yield from (sample(array, array.copy()), sample(array, make((2, 3), dtype, seed=1)), sample(array, array[:1]))
    yield sample(laid_out("empty", FLOAT32), laid_out("empty", FLOAT32))
    yield sample(special(FLOAT32), special(FLOAT32))


def masks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for array in arrays():
        yield array, make(array.shape, BOOL)
    yield make((3, 1), FLOAT32), make((2, 1, 4), BOOL)
    yield make((3,), FLOAT32), make((3,), UINT8)
    yield make((3,), FLOAT32), make((4,), BOOL)
    yield expanded(make((3, 1), FLOAT32), (3, 4)), make((3, 4), BOOL)


def masked_fill(number: bool) -> Iterator[Sample]:
    for array, mask in masks():
        for value in (2, 0.5):
            yield sample(array, mask, value if number else np.asarray(value, np.float32))
    if not number:
        yield sample(make((3,), FLOAT32), make((3,), BOOL), make((3,), FLOAT32))


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("add.Tensor", "sub.Tensor", "rsub.Tensor"), partial(with_alpha, False)),
    "add.Tensor": lambda: (*with_alpha(False), *every_dtype_pair()),
    **dict.fromkeys(("add.Scalar", "sub.Scalar", "rsub.Scalar"), partial(with_alpha, True)),
    **dict.fromkeys(("mul.Tensor", "maximum", "lt.Tensor", "bitwise_and.Tensor"), binary),
    "eq.Tensor": promoting,
    "div.Tensor": promoting,
    "mul.Scalar": with_number,
    "div.Scalar": with_number,
    "div.Tensor_mode": partial(_with_modes, binary),
    "div.Scalar_mode": partial(_with_modes, partial(with_number, 1, 2, -3, 2.5, 0, True)),
    **dict.fromkeys(("floor_divide", "remainder.Tensor"), partial(dividing, binary)),
    **dict.fromkeys(
        ("floor_divide.Scalar", "remainder.Scalar"), partial(dividing, partial(with_number, 1, 2, -3, 2.5, 0, True))
    ),
    "remainder.Scalar_Tensor": partial(dividing, partial(with_number, 1, 7, -3, 2.5, True, first=True)),
    "pow.Tensor_Tensor": power,
    "pow.Tensor_Scalar": partial(with_number, 0, 1, 2, 3, 0.5, -1, -2, True),
    "pow.Scalar": partial(with_number, 0, 1, 2, 2.5, -1.5, True, first=True),
    **dict.fromkeys(("minimum", "atan2", "max.other", "min.other"), binary),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "bitwise_or.Tensor", "bitwise_xor.Tensor"), binary),
    **dict.fromkeys((f"{name}.Tensor" for name in ("ne", "le", "gt", "ge")), binary),
    **dict.fromkeys((f"{name}.Scalar" for name in ("eq", "ne", "lt", "le", "gt", "ge")), with_number),
    **dict.fromkeys(
        (f"bitwise_{name}.Scalar" for name in ("and", "or", "xor")), partial(with_number, 3, -1, True, 2.5)
    ),
    **dict.fromkeys(
        (f"bitwise_{name}.Scalar_Tensor" for name in ("and", "or", "xor")),
        partial(with_number, 3, -1, True, first=True),
    ),
    "clamp": clamp_numbers,
    "clamp.Tensor": clamp_arrays,
    "where.self": where_all_pairs,
    "where.ScalarSelf": partial(where_samples, False, True),
    "where.ScalarOther": partial(where_samples, True, False),
    "where.Scalar": partial(where_samples, False, False),
    **dict.fromkeys(
        (
            "neg",
            "abs",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log2",
            "sqrt",
            "rsqrt",
            "sin",
            "cos",
            "tan",
            "tanh",
            "sigmoid",
            "reciprocal",
            "floor",
            "ceil",
            "trunc",
            "round",
            "sign",
            "relu",
            "square",
            "bitwise_not",
            "logical_not",
            "isnan",
            "isfinite",
            "isclose",
            "zero",
        ),
        unary,
    ),
    "round.decimals": rounded,
    "gelu": gelu,
    "isclose": close,
    "allclose": close,
    "equal": equal,
    "masked_fill.Scalar": partial(masked_fill, True),
    "masked_fill.Tensor": partial(masked_fill, False),
}
