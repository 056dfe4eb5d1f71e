"""Samples of backward functions that are operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import FLOAT32, FLOAT64, Array, Sample, laid_out, make, sample, special

Samples = Callable[[], Iterable[Sample]]
DTYPES = (FLOAT32, FLOAT64)


def pairs() -> Iterator[tuple[Array, Array]]:
    """Gradients with what was passed: few, since their forward operators are tried with many; at special values."""
    yield make((2, 3), FLOAT32, seed=1), make((2, 3), FLOAT32)
    for dtype in DTYPES:
        yield make(special(dtype).shape, dtype, seed=1), special(dtype)
    for layout in ("transposed", "stepped", "0-dim", "empty"):
        yield laid_out(layout, FLOAT32, seed=1), laid_out(layout, FLOAT32)


def activation(*arguments: tuple[object, ...]) -> Iterator[Sample]:
    """Pairs of a gradient and a tensor, with each tuple of further arguments."""
    for grad, array in pairs():
        yield from (sample(grad, array, *more) for more in arguments or ((),))


def elu() -> Iterator[Sample]:
    for grad, array in pairs():
        yield sample(grad, 1, 1, 1, False, array)
        yield sample(grad, 2, 1.5, 0.25, True, array)
    yield from (sample(grad, -1, 1, 1, is_result, array) for is_result in (False, True))


def three(*arguments: tuple[object, ...]) -> Iterator[Sample]:
    """The same with a third tensor, of the shape of the others."""
    for grad, array in pairs():
        third = make(array.shape, array.dtype, seed=2, low=0, high=2)
        yield from (sample(grad, array, third, *more) for more in arguments or ((),))


def slopes() -> Iterator[Sample]:
    yield from three((0.125, 0.25, True, False), (0.25, 0.25, True, False), (0.125, 0.25, False, True))


def buffered() -> Iterator[Sample]:
    """With what `log_sigmoid_forward` leaves: exp(-|x|)."""
    for grad, array in pairs():
        yield sample(grad, array, np.asarray(np.exp(-abs(array))))


def approximated() -> Iterator[Sample]:
    for grad, array in pairs():
        yield from (sample(grad, array, approximate=name) for name in ("none", "tanh"))


def glu(*, tangents: bool) -> Iterator[Sample]:
    for dtype in DTYPES:
        for shape, dim in (((4, 6), -1), ((2, 4, 3), 1), ((0, 4), 1)):
            half = tuple(size // 2 if place == dim % len(shape) else size for place, size in enumerate(shape))
            grad, x = make(half, dtype, seed=1), make(shape, dtype)
            if tangents:
                first, second = np.split(x, 2, dim)
                gate = 1 / (1 + np.exp(-second))
                grad_x = np.concatenate([grad * gate, grad * first * gate * (1 - gate)], dim)
                yield sample(grad_x, grad, x, make(half, dtype, seed=4), make(shape, dtype, seed=5), dim)
            else:
                yield sample(grad, x, dim)


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(
        (
            "sigmoid_backward",
            "tanh_backward",
            "silu_backward",
            "mish_backward",
            "hardsigmoid_backward",
            "hardswish_backward",
            "infinitely_differentiable_gelu_backward",
        ),
        activation,
    ),
    "gelu_backward": approximated,
    "logit_backward": partial(activation, (), (0.1,), (None,)),
    "elu_backward": elu,
    "log_sigmoid_backward": buffered,
    "leaky_relu_backward": partial(activation, (0.5, False), (0.01, True), (-2, True)),
    "softplus_backward": partial(activation, (1, 20), (0.5, 1)),
    "hardtanh_backward": partial(activation, (-1, 1), (-2.5, 1.5)),
    "hardshrink_backward": partial(activation, (0.5,), (2.5,)),
    "softshrink_backward": partial(activation, (0.5,), (2.5,)),
    "_prelu_kernel_backward": three,
    "rrelu_with_noise_backward": slopes,
    "glu_backward": partial(glu, tangents=False),
    "glu_backward_jvp": partial(glu, tangents=True),
}
