"""Samples of activations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import (
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    UINT8,
    Sample,
    arrays,
    bfloat16,
    laid_out,
    make,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]


def activation(*arguments: tuple[object, ...]) -> Iterator[Sample]:
    """Arrays of every dtype and layout, and special values, with each tuple of further arguments."""
    for array in (*arrays(), *(special(dtype) for dtype in DTYPES)):
        yield sample(array)
        if array.shape == (2, 3) or array.ndim == 1:
            yield from (sample(array, *more) for more in arguments)


def threshold() -> Iterator[Sample]:
    for each in activation():
        for numbers in ((1, 2), (0.5, -1.5), (-1, 20), (0, float("nan"))):
            yield sample(*each.args, *numbers)


def threshold_backward() -> Iterator[Sample]:
    for each in activation():
        (array,) = each.args
        yield from (sample(array, array, number) for number in (0, 0.5, -1.5, float("nan")))
    yield sample(make((2, 1), FLOAT32), make((3,), FLOAT64), 0)


def glu() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((4, 6), dtype))
        yield sample(special(dtype)[: len(special(dtype)) // 2 * 2])
    for layout in ("contiguous", "transposed", "permuted", "stepped", "expanded", "channels_last", "empty", "0-dim"):
        array = laid_out(layout, FLOAT32)
        yield from (sample(array, dim) for dim in (-1, 0, 1, 2))
    yield sample(make((3, 5), FLOAT32))
    yield sample(make((3, 4), FLOAT32), 2)


def prelu(kernel: bool) -> Iterator[Sample]:
    for array in arrays():
        yield sample(array, make((1,) if array.ndim else (), array.dtype, seed=1))
    for dtype in (FLOAT16, bfloat16, FLOAT32, FLOAT64):
        yield sample(special(dtype), np.asarray([0.25], dtype))
    array = make((2, 3, 4), FLOAT32)
    weight = make((3, 1) if kernel else (3,), FLOAT32, seed=1)
    yield from (sample(view, weight) for view in (array, laid_out("transposed", FLOAT32), array[:, :, ::2]))
    if not kernel:
        yield from (sample(array, make(shape, FLOAT32)) for shape in ((), (1,), (4,), (3, 1)))
        yield from (sample(make(shape, FLOAT32), weight) for shape in ((), (3,), (2, 3), (0, 3, 2), (5, 3, 4, 2)))
        yield sample(array, make((3,), FLOAT64))


def random_slopes(noise: bool) -> Iterator[Sample]:
    for array in arrays():
        if array.dtype == FLOAT16:  # PyTorch has no kernel for training in it
            continue
        if not noise:
            yield from (sample(array), sample(array, 0.25, 0.5))
        rest = (np.zeros(array.shape, array.dtype),) if noise else ()
        yield from (sample(array, *rest, 0.1, 0.3, training) for training in (True, False) if noise or array.size)
    if not noise:
        yield from (sample(special(dtype), 0.1, 0.4, True) for dtype in (FLOAT32, FLOAT64, bfloat16))


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(
        ("silu", "mish", "selu", "relu6", "hardsigmoid", "hardswish", "log_sigmoid", "log_sigmoid_forward"), activation
    ),
    "elu": partial(activation, (0.5,), (2, 1.5, 0.25), (-1, 1, 2)),
    "celu": partial(activation, (0.5,), (-2,), (0,), (3,)),
    "leaky_relu": partial(activation, (0.5,), (0,), (-2,), (1.5,), (1,)),
    "softplus": partial(activation, (2,), (0.5, 1), (-1, 3), (1, 0)),
    "hardtanh": lambda: (
        *activation((0, 6), (-2.5, 1.5), (2, -2)),
        *(sample(make((4,), dtype), 0, 1.5) for dtype in (INT32, UINT8)),
    ),
    "hardshrink": partial(activation, (1,), (0,), (-1,), (2.5,)),
    "softshrink": partial(activation, (1,), (0,), (-1,), (2.5,)),
    "threshold": threshold,
    "threshold_backward": threshold_backward,
    "glu": glu,
    "prelu": partial(prelu, False),
    "_prelu_kernel": partial(prelu, True),
    "rrelu": partial(random_slopes, False),
    "rrelu_with_noise_functional": partial(random_slopes, True),
}
