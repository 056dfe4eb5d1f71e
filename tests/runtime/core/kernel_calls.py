"""Calls of the kernels that the compiled core has in C: arguments by the kernel's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from seeds import numpy_generator

import opwright_kernels
from opwright_core.core import fast
from opwright_kernels.layers.alignments import alignment_losses
from opwright_kernels.layers.attention import attention
from opwright_kernels.linalg.decompositions import lu_and_info

Array = np.ndarray[Any, Any]
Make = Callable[[Callable[..., Array]], tuple[Any, ...]]

CORNERS = [0.0, -0.0, 1, -1, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 20, 88.5, -88.5, 104, -104]


def compiled_kernels() -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of every kernel that has one in C."""
    folder = Path(opwright_kernels.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.parent.name in ("composites", "gradients"):  # (which have tests of their own)
            continue
        module = import_module(".".join(("opwright_kernels", *path.relative_to(folder).with_suffix("").parts)))
        for name, found in vars(module).items():
            if fast is not None and type(found) is fast.Compiled and found.__module__ == module.__name__:
                yield name, found


def _one(*numbers: Any) -> list[Make]:
    return [lambda x: (np, x(), *numbers)]


def _two(*numbers: Any) -> list[Make]:
    return [lambda x: (np, x(), x(), *numbers)]


def _degrees() -> list[Make]:
    """Return calls of low degrees: waves of high ones lose as many digits as these have."""
    return [lambda x: (np, x(), np.fmod(x(), 40).astype(x().dtype))]


def _slope(*numbers: Any) -> list[Make]:
    return [lambda x: (x(), x(), *numbers)]


def _regular(x: Callable[..., Array], size: int) -> Array:
    """Return a matrix far from singular ones, all of whose leading minors are positive."""
    return (x(size, size) + 8 * size * np.eye(size)).astype(x(1).dtype)


def _matrices(make: Callable[[Array], tuple[Any, ...]], singular: bool = True) -> list[Make]:
    """Return calls with a matrix of each size, one that lies by columns, one that is singular, and a batch."""
    sizes: list[Make] = [lambda x, size=size: make(_regular(x, size)) for size in (1, 2, 5, 32, 33)]
    sizes += [lambda x: make(_regular(x, 4).T), lambda x: make(np.repeat(_regular(x, 3), 2, axis=1)[:, ::-2])]
    sizes += [lambda x: make(np.stack([_regular(x, 3)] * 2))]
    return [*sizes, lambda x: make(np.ones((3, 3), x(1).dtype))] if singular else sizes


def _factored(A: Array) -> tuple[Array, Array]:
    factors, pivots, _ = lu_and_info.python(np, A, True, False)
    return factors, pivots


# Targets, lengths of inputs and of targets: a row each, and one behind the other.
_ALIGNED = (
    (np.array([[1, 2, 2], [3, 1, 0]]), [6, 5], [3, 2]),
    (np.array([1, 2, 2, 3]), [6, 0], [3, 1]),
    (np.array([[1], [2]]), [4, 6], [0, 0]),
)


def _aligned_back(log_probs: Array, targets: Array, input_lengths: list[int], target_lengths: list[int]) -> Any:
    """Return a call of the gradient, with what the losses returned."""
    given = (log_probs, targets, input_lengths, target_lengths)
    losses, sums = alignment_losses.python(np, *given, 0, False)
    return (np, np.ones_like(losses), *given, losses, sums, 0, True)


def _chances(x: Callable[..., Array], *shape: int) -> Array:
    return numpy_generator("chances").random(shape).astype(x(1).dtype)


# What is given to each kernel: `x()` is an operand.
ELEMENTWISE: dict[str, list[Make]] = {
    **dict.fromkeys(("erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "silu", "mish"), _one()),
    **dict.fromkeys(
        (
            "hardsigmoid",
            "hardswish",
            "fractional_part",
            "sign",
            "angle",
            "cube",
            "round_half_even",
            "relu",
            "reciprocal_root",
        ),
        _one(),
    ),
    **dict.fromkeys(
        ("erfcx", "log_ndtr", "ndtri", "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"), _one()
    ),
    **dict.fromkeys(("i0", "i0e", "i1", "i1e", "modified_bessel_k0", "modified_bessel_k1"), _one()),
    **dict.fromkeys(("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"), _one()),
    **dict.fromkeys(("igamma", "igammac"), _two()),
    "polygamma": [lambda x: (np, 1, x())],
    "zeta": [lambda x: (np, x(), np.fmod(x(), 30).astype(x().dtype))],  # a step for each number below 9
    **dict.fromkeys((f"{kind}chebyshev_polynomial_{each}" for kind in ("", "shifted_") for each in "tuvw"), _degrees()),
    **dict.fromkeys(("hermite_polynomial_h", "hermite_polynomial_he"), _degrees()),
    **dict.fromkeys(("laguerre_polynomial_l", "legendre_polynomial_p"), _degrees()),
    "logit": _one(None) + _one(0.1) + _one(0.75),
    "elu": _one(1.0, 1.0, 1.0) + _one(1.5, 1.1, 0.7) + _one(2, 3, 1),
    "leaky_relu": _one(0.01) + _one(-0.5) + _one(2),
    "softplus": _one(1, 20) + _one(2.5, 10.0),
    "gelu": _one("none") + _one("tanh"),
    "nan_to_num": _one(None, None, None) + _one(1.5, np.inf, -3),
    "lerp": _two(0.25) + _two(0.75) + _two(1) + _two(-3.0) + [lambda x: (np, x(), x(), x())],
    "entr": _one(),
    "heaviside": _two(),
    "threshold": _one(0, 1) + _one(0.5, -2.5),
    **dict.fromkeys(("hardshrink", "softshrink"), _one(0.5) + _one(0)),
    **dict.fromkeys(("xlogy", "xlog1py", "fmod", "remainder"), _two()),
    **dict.fromkeys(("sinc", "spherical_bessel_j0"), _one()),
    "hardtanh": _one(-1.0, 1.0) + _one(0, 6) + _one(2, 1.5),
    "power_scalar": _one(2) + _one(3) + _one(0.5) + _one(-0.5),
    "clamp": _one(0.2, 0.8) + _one(None, 0.5) + _one(-1, None) + _one(2, 1.5),
    "logaddexp": _two(),
    "add_scaled": _two(2.0) + _two(-0.3),
    "addcmul": [lambda x: (np, x(), x(), x(), 1), lambda x: (np, x(), x(), x(), 0.3)],
    "addcdiv": [lambda x: (np, x(), x(), x(), 1), lambda x: (np, x(), x(), x(), 0.3)],
    "threshold_backward": _two(0) + _two(0.5),
    **dict.fromkeys(("sigmoid_backward", "tanh_backward", "mish_backward", "hardsigmoid_backward"), _two()),
    "hardswish_backward": _two(),
    "softplus_backward": _two(1, 20) + _two(2.5, 10.0),
    "leaky_relu_backward": _two(0.01) + _two(-0.5),
    "hardtanh_backward": _two(-1.0, 1.0) + _two(0, 6),
    "hardshrink_backward": _two(0.5) + _two(0),
    "log_sigmoid_backward": [lambda x: (np, x(), x(), np.exp(-np.abs(x())))],
    "silu_gradient": _slope(),
    "gelu_gradient": _slope("none") + _slope("tanh"),
    "elu_gradient": _slope(1.7, 1.1, 0.8) + _slope(1.0, 1.0, 1.0),
}


def _softmax(dims: tuple[int, ...]) -> list[Make]:
    shapes = ((6, 40, 35), (3, 70, 1000))
    return [lambda x, dim=dim, shape=shape: (np, x(*shape), dim, False) for dim in dims for shape in shapes]


def _attention(has_gradient: bool) -> list[Make]:
    """Return calls with heads beside each other, with and without a bias, causal ones, and of many rows."""

    def make(x: Callable[..., Array], batch: tuple[int, ...], rows: int, columns: int, how: str) -> tuple[Any, ...]:
        query, key, value = x(*batch, rows, 4), x(*batch, columns, 4), x(*batch, columns, 5)
        bias = np.broadcast_to(x(rows, columns), (*batch, rows, columns)) if how == "bias" else None
        options = (bias, how == "causal", 0.5)
        if not has_gradient:
            return query, key, value, *options
        result, logs = attention(query, key, value, *options)
        return x(*result.shape), query, key, value, result, logs, *options

    few = [(shape, how) for shape in (((2, 3), 9, 7), ((), 5, 5)) for how in ("", "bias", "causal")]
    return [lambda x, call=call: make(x, *call[0], call[1]) for call in [*few, (((1, 2), 300, 600), "bias")]]


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


def _reduced() -> list[Make]:
    return [
        lambda x, shape=shape, dim=dim, keepdim=keepdim: (np, x(*shape), dim, keepdim)
        for shape in ((3, 4, 5), (2, 9000), (37,))
        for dim in (None, [], -1, [len(shape) - 1], (0,), [*range(0, len(shape), 2)])
        for keepdim in (False, True)
    ]


def _spreads() -> list[Make]:
    return [
        lambda x, shape=shape, dim=dim, correction=correction: (np, x(*shape), dim, correction, correction == 1)
        for shape in ((3, 4, 5), (2, 9000), (1,))
        for dim in (None, [], -1, (0,))
        for correction in (None, 0, 1, 2.5)
    ]


def _classes(x: Callable[..., Array], rows: int, classes: int) -> Array:
    found: Array = np.arange(rows) * 7 % classes
    return found


def _products() -> list[Make]:
    """Return products of matrices and of batches of them, as they are and transposed; of a large one last."""
    turned = [lambda x, shape=shape: (np, x(*shape), x(*shape).swapaxes(-1, -2)) for shape in ((3, 5), (2, 3, 4, 6))]
    broadcast = [lambda x: (np, np.broadcast_to(x(1, 4, 3), (5, 4, 3)), x(5, 3, 2)), lambda x: (np, x(2, 3), x(3))]
    vectors = [lambda x: (np, x(3, 5), x(5)), lambda x: (np, x(5, 3).T, x(10)[::2]), lambda x: (np, x(1, 7), x(7, 1))]
    broadcast.append(lambda x: (np, x(2, 3), x(5, 3, 4)))
    few_rows = [lambda x, rows=rows: (np, x(rows, 150), x(261, 150).T) for rows in (2, 3, 33)]
    return [*turned, *broadcast, *vectors, *few_rows, lambda x: (np, x(40, 50), x(50, 30))]


def _resized_images() -> list[Make]:
    """Return images of one to three dimensions of space, which grow or shrink, by sizes and by factors; some of these
    put elements where no integer is."""
    return [
        lambda x: (np, x(2, 3, 5), [12], None),
        lambda x: (np, x(2, 3, 7), [3], 0.5),
        lambda x: (np, x(2, 3, 4, 5), [8, 11], 2.0, None),
        lambda x: (np, x(2, 1, 9, 7), [4, 7], 0.45, 1.0),
        lambda x: (np, x(1, 2, 2, 3, 4), [5, 3, 6], None, 1.0, 1.7),
        lambda x: (np, x(2, 4, 5, 3).transpose(0, 3, 1, 2), [8, 9], 2.0, None),
        lambda x: (np, x(2, 3, 5), [4], 1e-310),
        lambda x: (np, x(2, 3, 4, 5), [4, 3], 1e-19, 1e-300),
    ]


def _interpolated(dims: tuple[int, ...] = (2,)) -> list[Make]:
    """Return images of so many dimensions of space, whose elements are weighted sums."""
    every: list[tuple[tuple[int, ...], list[int], list[float | None]]] = [
        ((2, 3, 5), [12], [None]), ((2, 3, 7), [3], [0.5]), ((2, 3, 4, 5), [8, 11], [2.0, None]),
        ((2, 1, 9, 7), [4, 1], [0.45, 1.0]), ((1, 2, 2, 3, 4), [5, 3, 6], [None, 1.0, 1.7]),
        ((2, 1, 4, 5), [4, 3], [1e-19, 1e-300]),
    ]  # fmt: skip
    return [
        lambda x, given=given, corners=corners: (np, x(*given[0]), given[1], corners, *given[2])
        for given in every
        if len(given[1]) in dims
        for corners in (True, False)
    ]


def _product_sums() -> list[Make]:
    """Return sums with a row, with rows, with one number, and with rows that lie otherwise."""
    added: list[Make] = [lambda x, shape=shape: (x(*shape),) for shape in ((4,), (1, 4), (3, 4), (1,), (3, 1))]
    added.append(lambda x: (x(4, 3).T,))
    others = [lambda x: (np, x(2, 3, 4), x(2, 3, 5), x(2, 5, 4), 1, 2), lambda x: (np, x(3), x(3, 5), x(5), 2, 1)]
    return others + [
        lambda x, each=each, numbers=numbers: (np, *each(x), x(3, 5), x(4, 5).T, *numbers)
        for each in added
        for numbers in ((1, 1), (0.5, -2), (0, 1))
    ]


def _class_losses() -> list[Make]:
    return [
        lambda x, weighted=weighted, reduction=reduction, ignored=ignored: (
            *(np, x(9, 5), _classes(x, 9, 5), x(5) if weighted else None, reduction, ignored),
        )
        for weighted in (True, False)
        for reduction in (0, 1, 2)
        for ignored in (-100, 3)
    ]


def _distances(*number: float) -> list[Make]:
    return [
        lambda x, shape=shape, reduction=reduction: (np, x(*shape), x(*shape), reduction, *number)
        for shape in ((3, 5), (5000,))
        for reduction in (0, 1, 2)
    ]


def _moved(x: Callable[..., Array], dim: int) -> Array:
    """Return an array with seven elements along one dimension of (3, 4, 5)."""
    shape = [3, 4, 5]
    shape[dim] = 7
    return x(*shape)


def _places(x: Callable[..., Array], dim: int) -> Array:
    """Return places along that dimension, some of them more than once."""
    found: Array = np.arange(_moved(x, dim).size) * 7 % 3
    return found.reshape(_moved(x, dim).shape)


def _batches(*shape: int) -> list[Make]:
    """Return calls with running statistics, with weight and bias and without, in training and not."""
    size = shape[1]
    return [
        lambda x, has=has, training=training: (
            *(np, x(*shape), *(x(size) if each else None for each in has), x(size), abs(x(size))),
            *(training, 0.1, 1e-3),
        )
        for has in ((True, True), (True, False), (False, True), (False, False))
        for training in (True, False)
    ]


def _inputs(*shape: int) -> list[Make]:
    size = shape[1]
    return [
        lambda x, has=has: (np, x(*shape), x(size) if has else None, x(size) if has else None, True, 0.1, 1e-3)
        for has in (True, False)
    ]


# kernel, stride, padding, dilation, whether the last window may hang over
POOLS: list[tuple[Any, ...]] = [
    ([2], [], [0], [1], False),
    ([3, 2], [2, 1], [1, 0], [1, 2], False),
    ([3], [2], [1], [2], True),
    ([2, 3], [3], [1], [1], True),
    ((7, 9), (1, 1), (3, 4), (1, 1), False),
]
IMAGES = [(2, 3, 9, 12), (3, 7, 9), (1, 1, 13, 10), (2, 11, 39), (1, 5, 600)]


def _largest() -> list[Make]:
    return [lambda x, shape=shape, options=options: (np, x(*shape), *options) for shape in IMAGES for options in POOLS]


def _divided() -> list[Make]:
    return [
        lambda x, shape=shape, counts=counts: (np, x(*shape), counts)
        for shape, counts in (
            ((2, 3, 9, 12), [4, 5]),
            ((3, 7, 9), (1, 1)),
            ((2, 3, 5, 4), [7, 9]),
            ((2, 3, 7, 6, 5), [2, 4, 3]),
            ((2, 7, 6, 5), [1, 1, 6]),
            ((2, 220, 180), [3, 50]),
        )
    ]


def _averages() -> list[Make]:
    return [
        lambda x, shape=shape, options=options, more=more: (np, x(*shape), *options[:3], options[4], *more)
        for shape in IMAGES
        for options in POOLS
        for more in ((True, None), (False, None), (True, 3), (False, -2))
    ]


# the image, weight, (padding, dilation, groups) of convolutions whose windows are one step apart
STRIPS: list[tuple[Any, ...]] = [
    ((3, 8, 17, 20), (9, 8, 3, 3), ([1], [1], 1)),
    ((2, 6, 40, 9), (10, 3, 4, 2), ([3], [2], 2)),
    ((2, 6, 40, 29), (6, 1, 3, 5), ([0], [1], 6)),
    ((1, 4, 80, 500), (4, 4, 3, 4), ([2], [1], 1)),
    ((5, 6, 300), (5, 6, 7), ([3], [3], 1)),
    ((9, 32, 30), (8, 32, 1), ([0], [1], 1)),
]


def _convolutions() -> list[Make]:
    """Return calls of images and lines: small ones, and a channel at a time."""
    shapes: list[tuple[Any, ...]] = [
        ((2, 3, 9, 12), (4, 3, 3, 2), [1], [0], [1], 1),
        ((2, 4, 9, 12), (6, 2, 3, 3), [2, 1], [1, 2], [1, 2], 2),
        ((2, 5, 19, 32), (10, 1, 3, 3), [1, 1], [1, 1], [1, 1], 5),
        ((2, 5, 19, 32), (5, 1, 4, 2), [3, 2], [4, 3], [2, 3], 5),
        ((2, 3, 50), (4, 3, 5), [1], [2], [1], 1),
        ((2, 3, 50), (3, 1, 5), [2], [9], [3], 3),
        *((*one, [1], *rest) for *one, rest in STRIPS),
    ]
    turned = [
        lambda x, one=one, pads=pads, gaps=gaps, groups=groups: (
            *(np, x(one[0][0], one[1][0], *one[0][2:]), x(*one[1]), None, [1], pads, gaps, True, [0], groups),
        )
        for *one, (pads, gaps, groups) in STRIPS
    ]
    return turned + [
        lambda x, one=one, has=has: (
            *(np, x(*one[0]), x(*one[1]), x(one[1][0]) if has else None, *one[2:5], False, [0], one[5]),
        )
        for one in shapes
        for has in (True, False)
    ]


def _weight_gradients() -> list[Make]:
    """Return calls for windows one step apart: with what the convolution gives as the gradient."""

    def call(x: Any, image: Any, weight: Any, options: Any) -> tuple[Any, ...]:
        pads, gaps, groups = options
        pads, gaps = (each * (len(image) - 2) for each in (pads, gaps))
        lists = zip(image[2:], weight[2:], pads, gaps, strict=True)
        counts = [size + 2 * pad - gap * (extent - 1) for size, extent, pad, gap in lists]
        return x(*image), x(image[0], weight[0], *counts), list(weight), [1] * len(counts), pads, gaps, groups

    return [lambda x, one=one: call(x, *one) for one in STRIPS]


# the image, kernel, stride, padding, dilation
WINDOWS: list[tuple[Any, ...]] = [
    ((2, 3, 6, 5), [3, 3], [1, 1], [1, 1], [1, 1]),
    ((2, 3, 6, 5), [5, 3], [1, 1], [2, 1], [1, 1]),
    ((2, 2, 9, 7), [2, 3], [2, 3], [1, 0], [2, 1]),
    ((1, 2, 3, 2), [2, 2], [1, 1], [9, 4], [1, 3]),
    ((3, 2, 50), [5], [1], [2], [1]),
    ((2, 3, 9), [3], [2], [4], [3]),
]


def _columns() -> list[Make]:
    return [
        lambda x, one=one, beside=beside: (np, x(*one[0]), *one[1:], beside)
        for one in WINDOWS
        for beside in (False, True)
    ]


def _sums() -> list[Make]:
    """Return sums of the windows of these images, and of images that are a little larger."""
    return [lambda x, one=one, more=more: _sum(x, more, *one) for one in WINDOWS for more in (0, 1)]


def _sum(x: Callable[..., Array], more: int, shape: tuple[int, ...], *options: list[int]) -> tuple[Any, ...]:
    lists = zip(shape[2:], *options, strict=True)
    counts = [(size + 2 * pad - gap * (extent - 1) - 1) // step + 1 for size, extent, step, pad, gap in lists]
    return np, x(*shape[:2], *options[0], *counts), [size + more for size in shape[2:]], *options


# What is given to kernels of rows and windows: `x(*shape)` is an operand.
SHAPED: dict[str, list[Make]] = {
    "softmax": _softmax((0, 1, -1)),
    "log_softmax": _softmax((0, 1, -1)),
    "layer_norm": _normed(7, 1, 33) + _normed(5, 3, 1000) + _normed(2, 1),
    "group_norm_of_rows": _grouped(6, 2, 35) + _grouped(6, 3, 1) + _grouped(4, 1, 5000),
    "batch_norm_of_input": _inputs(4, 3, 5, 7) + _inputs(9, 70),
    "batch_norm_with_running": _batches(4, 3, 5, 7) + _batches(9, 70) + _batches(2, 5, 4100),
    "total": _reduced(),
    "average": _reduced(),
    "largest": _reduced(),
    "logsumexp": _reduced(),
    "product": _reduced(),
    **{
        name: [lambda x: (np, x(4, 1500)), lambda x: (np, x(37))]
        for name in ("whole_total", "whole_average", "whole_product", "log_sigmoid")
    },
    "number_of_nonzero": [lambda x: (np, np.trunc(x(9, 5000)), None), lambda x: (np, np.trunc(x(9, 50)), [-1])],
    "running_total": [lambda x: (np, x(7, 40), 1), lambda x: (np, x(9), -1)],
    "running_product": [lambda x: (np, x(7, 40), 1), lambda x: (np, x(9), -1)],
    "topk": [
        lambda x, k=k, largest=largest: (np, x(5, 300), k, -1, largest, True)
        for k in (1, 3, 32, 40)
        for largest in (True, False)
    ]
    + [lambda x, dim=dim: (np, x(5, 4, 6), 2, dim, dim == 0, True) for dim in (0, 1, -2)],
    **dict.fromkeys(("variance", "deviation", "variance_and_mean", "deviation_and_mean"), _spreads()),
    "vector_norm": [
        lambda x, order=order, shape=shape, dim=dim: (np, x(*shape), order, dim, True)
        for order in (2, None, 2.0, 1)
        for shape in ((3, 4, 5), (2, 9000))
        for dim in (None, -1, [0])
    ],
    **dict.fromkeys(
        ("largest_and_position", "smallest_and_position"),
        [lambda x, dim=dim: (np, np.trunc(x(3, 40, 5)), dim, dim == 1) for dim in (0, 1, -1)]
        + [lambda x, size=size: (np, np.trunc(x(4, size)), -1, False) for size in (63, 64, 200)]
        + [lambda x, dim=dim: (np, np.trunc(x(4, 90)).astype("int64"), dim, False) for dim in (0, 1)],
    ),
    "sort": [
        lambda x, size=size, descending=descending: (np, np.trunc(x(5, size)), -1, descending)
        for size in (1, 7, 32, 33)
        for descending in (True, False)
    ]
    + [lambda x, dim=dim: (np, np.trunc(x(5, 4, 6)), dim, dim == 0) for dim in (0, 1, -2)],
    "median": [lambda x, size=size: (np, x(size)) for size in (1, 6, 31, 90)],
    "same_elements": [
        lambda x, change=change: (np, x(9000) * 0, x(9000) * 0 + change) for change in (0, 1, np.arange(9000) // 8999)
    ],
    "matrix_product": _products(),
    "product_sum": _product_sums(),
    "index_select": [lambda x, dim=dim: (np, x(3, 4, 5), dim, np.array([2, 0, 2, 1])) for dim in (0, 1, -1)],
    "upsample_nearest": _resized_images(),
    "upsample_nearest_exact": _resized_images(),
    "upsample_linear": _interpolated((1, 2, 3)),
    **dict.fromkeys(("upsample_cubic", "upsample_linear_antialiased", "upsample_cubic_antialiased"), _interpolated()),
    "take_at": [
        lambda x, index=index: (np, x(4, 3, 5), index)
        for index in (
            [np.array([2, 0, 2])],
            (None, np.array([[1], [2]])),
            [np.array([-1, 0])],
            [None, None, np.array(1)],
            [np.arange(12).reshape(4, 3) % 3 > 0],
            [np.array([True, False, True, True])],
        )
    ],
    "embedding": [lambda x: (np, x(7, 3), np.arange(20).reshape(4, 5) % 7, -1, False, False)],
    "concatenate": [lambda x, dim=dim: (np, [x(3, 4, 5), _moved(x, dim), x(3, 4, 5)], dim) for dim in (0, 1, -1)],
    "stack": [lambda x, dim=dim: (np, [x(3, 4), x(3, 4)], dim) for dim in (0, 1, 2, -1)],
    "roll": [
        lambda x, shifts=shifts, dims=dims: (np, x(3, 4, 5), shifts, dims)
        for shifts, dims in (([1], [0]), ([-7], [1]), ([9], [-1]), ([0], [0]), ([8], []), ([1, 2], [0, 1]))
    ],
    "choose": [
        lambda x, of=of: (np, x(6, 7) > 0, *[x(*shape) for shape in of])
        for of in (((6, 7), (6, 7)), ((), (6, 7)), ((6, 7), (1,)), ((), ()), ((7,), (6, 7)))
    ]
    + [lambda x: (np, x(9) > 0, x(9) > 1, x(9) < 1)],
    "fill_where": [lambda x, value=value: (np, x(6, 7), x(6, 7) > 0, value) for value in (0, -0.0, 1.5, np.inf, 1e300)]
    + [lambda x: (np, x(6, 7), x(7) > 0, 2), lambda x: (np, x(6, 7), x(6, 7) > 0, x())],
    "constant_pad": [
        lambda x, pad=pad, value=value: (np, x(2, 3, 4), pad, value)
        for pad in ([1, 2], [0, 1, 2, 0], [0, 0, 0, 0, 3, 1], [-1, 2], [0, 0])
        for value in (0, 0.0, -0.0, 1.5)
    ],
    "fill_with_zero": [lambda x: (np, x(6, 7))],
    "fill_with_number": [lambda x, value=value: (np, x(6, 7), value) for value in (1.5, -3)],
    "filled": [
        lambda x, shape=shape, value=value: (np, shape, value, x(1).dtype)
        for shape in ((), (3, 5), (0, 2), (200, 100))
        for value in (1, -0.0, np.nan, 1e-45, True)
    ],
    "copy_from": [lambda x: (np, x(6, 7), x(6, 7), False), lambda x: (np, x(6, 7), x(7), False)],
    "nll_loss": _class_losses(),
    "mse_loss": _distances(),
    "smooth_l1_loss": _distances(0.5) + _distances(2) + _distances(0),
    "huber_loss": _distances(0.5) + _distances(2),
    "gather": [lambda x, dim=dim: (np, x(3, 4, 5), dim, _places(x, dim), False) for dim in (0, 1, -1)],
    "scatter_add": [lambda x, dim=dim: (np, x(3, 4, 5), dim, _places(x, dim), _moved(x, dim)) for dim in (0, 1, -1)],
    **{
        name: [
            lambda x, dim=dim, more=more: (np, x(3, 4, 5), dim, _places(x, dim)[:2, :3, :4].copy(), x(2, 4, 7), *more)
            for dim in (1, -1)
            for more in more_of
        ]
        for name, more_of in {
            "scatter": [()],
            "scatter_reduced": [("add",), ("multiply",)],
            "scatter_reduce": [("sum", True), ("prod", True)],
        }.items()
    },
    "index_copy": [lambda x: (np, x(3, 4, 5), 1, np.array([2, 0]), x(3, 2, 5))],
    "index_fill": [lambda x, value=value: (np, x(3, 4, 5), -1, np.array([-1, 0]), value) for value in (2, 0.5)],
    "put": [
        lambda x, added=added, index=index: (np, x(3, 4), index, x(*index.shape), added)
        for added in (False, True)
        for index in (np.array([1, -1, 1]), np.array(-1), np.array([[0], [11]]))
    ],
    "put_at": [
        lambda x, added=added, index=index: (np, x(4, 3), index, x(2, 3), added)
        for added in (False, True)
        for index in ([np.array([1, -1])], [np.array([0, 0])], [np.array([True, False, True, False])])
    ],
    "masked_scatter": [lambda x: (np, x(4, 3), x(4, 3) > 0, x(12)), lambda x: (np, x(4, 3), x(3) > 0, x(5, 3))],
    "flip": [lambda x, dims=dims: (np, x(3, 4, 5), dims) for dims in ([0], [-1], [0, 2], [])],
    "repeat": [lambda x, times=times: (np, x(3, 4), times) for times in ([2, 1], [1, 3], [2, 1, 2], [0, 1])],
    "take": [lambda x: (np, x(3, 4), np.array([[1, -1], [11, 0]]))],
    "positions": [lambda x, shape=shape: (np, np.trunc(x(*shape))) for shape in ((30,), (7, 9), (3, 4, 5))]
    + [lambda x: (np, x(9, 11) > 1), lambda x: (np, x(40).astype("int64")), lambda x: (np, x(3) * 0)],
    **{
        f"{name}_triangle": [
            lambda x, shape=shape, diagonal=diagonal: (np, x(*shape), diagonal)
            for shape in ((4, 7), (2, 5, 3))
            for diagonal in (0, 1, -2, 9, -9)
        ]
        for name in ("lower", "upper")
    },
    "index_add": [
        lambda x, dim=dim, alpha=alpha: (np, x(3, 4, 5), dim, np.array([2, 0, 2, 1, 2, 0, 1]), _moved(x, dim), alpha)
        for dim in (0, 1, -1)
        for alpha in (1, 2.5)
    ],
    "max_pool2d": _largest(),
    "avg_pool2d": _averages(),
    "max_pool3d": [
        lambda x: (np, x(2, 3, 5, 7, 6), [2], [], [1, 0, 1], [1], False),
        lambda x: (np, x(3, 5, 7, 6), [2, 3, 1], [1, 2, 2], [1, 1, 0], [2, 1, 3], True),
    ],
    "avg_pool3d": [
        lambda x, has=has: (np, x(2, 3, 5, 7, 6), [3, 2, 2], [2], [1, 0, 1], has, not has, None)
        for has in (True, False)
    ],
    "adaptive_max_pool": _divided(),
    "adaptive_avg_pool": _divided(),
    "convolution": _convolutions(),
    "weight_gradient": _weight_gradients(),
    "columns_of": _columns(),
    "sum_of_windows": _sums(),
    "attention": _attention(False),
    "attention_gradients": _attention(True),
    "softmax_gradient": [lambda x: (x(6, 70), x(6, 70)), lambda x: (x(2, 5000), x(2, 5000))],
    "log_softmax_gradient": [lambda x: (x(6, 70), -abs(x(6, 70)))],
    "layer_norm_gradients": [
        lambda x, has=has, mask=mask: (
            *(x(7, 3, 40), x(7, 3, 40), x(3, 40) if has else None, x(7, 1, 1), abs(x(7, 1, 1)), (3, 40), mask),
        )
        for has in (True, False)
        for mask in ((True, True, True), (True, False, False), (False, False, True))
    ],
    "group_norm_gradients": [
        lambda x, has=has, mask=mask: (
            *(x(2, 6, 5), x(2, 6, 5), x(6) if has else None, x(2, 3), abs(x(2, 3)), (2, 3, 2, 5), mask),
        )
        for has in (True, False)
        for mask in ((True, True, True), (True, False, False), (False, False, True))
    ],
    "batch_norm_gradients": [
        lambda x, has=has, training=training, mask=mask: (
            *(x(4, 3, 5, 7), x(4, 3, 5, 7), x(3) if has else None, x(3), abs(x(3)), training, mask),
        )
        for has in (True, False)
        for training in (True, False)
        for mask in ((True, True, True), (True, False, False), (False, True, False))
    ],
    "inverse_and_info": _matrices(lambda A: (np, A, False)),
    "determinant": _matrices(lambda A: (np, A)),
    "log_determinant": _matrices(lambda A: (np, A), singular=False),
    "ldl_and_info": [
        *_matrices(lambda A: (np, A, False, False)),
        lambda x: (np, x(7, 7), False, False),  # whose blocks are of one and of two rows
        lambda x: (np, x(6, 6) * (1 - np.eye(6, dtype=x(1).dtype)), True, False),
    ],
    "lu_and_info": _matrices(lambda A: (np, A, True, False)),
    "cholesky_and_info": [
        *_matrices(lambda A: (np, A, False, False), singular=False),
        *_matrices(lambda A: (np, A, True, False), singular=False),
    ],
    "solution_and_factors": [
        *_matrices(lambda A: (np, A, A[..., :2] + 1, True, False), singular=False),
        *_matrices(lambda A: (np, A, A.swapaxes(-1, -2)[..., :2, :], False, False), singular=False),
        *_matrices(lambda A: (np, A, A[..., 0], True, False), singular=False),
        *_matrices(lambda A: (np, A, A[..., :0], True, False), singular=False),
    ],
    "solve_with_lu": [
        call
        for adjoint in (True, False)
        for call in (
            *_matrices(lambda A, adjoint=adjoint: (np, *_factored(A), A[..., :2] + 1, True, adjoint), False),
            *_matrices(lambda A, adjoint=adjoint: (np, *_factored(A), A[..., :2, :] + 1, False, adjoint), False),
        )
    ],
    "solve_triangular": [
        call
        for upper in (True, False)
        for unit in (True, False)
        for call in (
            *_matrices(lambda A, upper=upper, unit=unit: (np, A / (8 * len(A)), A[..., :2], upper, True, unit), False),
            *_matrices(
                lambda A, upper=upper, unit=unit: (np, A / (8 * len(A)), A[..., :2, :], upper, False, unit), False
            ),
        )
    ],
    **{
        name: [lambda x, pad=pad: (np, x(2, 3, 4, 5), pad) for pad in ([1, 2], [2, 0, -1, 3], [0, 1, 2, -2, 1, 1])]
        for name in ("reflection_pad", "replication_pad")
    },
    "fractional_max_pool2d": [lambda x: (np, x(2, 3, 6, 7), [2, 3], [3, 2], _chances(x, 2, 3, 2))],
    "fractional_max_pool3d": [lambda x: (np, x(2, 3, 6, 7, 5), [2, 3, 2], [3, 2, 1], _chances(x, 2, 3, 3))],
    "mode": [lambda x, dim=dim: (np, np.round(x(4, 9, 3)), dim, dim == 1) for dim in (0, 1, -1)],
    "avg_pool_gradient": [
        lambda x, end=end: (x(2, 3, 3, 3), [2, 3, 6, 7], [2, 3], [2, 2], [1, 1], *end)
        for end in ((True, None), (False, None), (False, 5))
    ],
    "alignment_losses": [lambda x, each=each: (np, -np.abs(x(6, 2, 4)), *each, 0, False) for each in _ALIGNED],
    "alignment_gradients": [lambda x, each=each: _aligned_back(-np.abs(x(6, 2, 4)), *each) for each in _ALIGNED],
    "multi_margin_loss": [
        lambda x, p=p, reduction=reduction: (np, x(4, 3), np.array([0, 2, 1, 1]), p, 1.5, None, reduction)
        for p in (1, 2)
        for reduction in (0, 1, 2)
    ],
    "multilabel_margin_loss": [
        lambda x, reduction=reduction: (np, x(2, 4), np.array([[3, 0, -1, 1], [-1, 2, 0, 3]]), reduction)
        for reduction in (0, 1, 2)
    ],
    **{
        name: [lambda x, dim=dim: (np, x(4, 9, 3), dim, dim == 1) for dim in (0, 1, -1)]
        for name in ("median_and_position", "nanmedian_and_position")
    },
    **{
        name: [lambda x, dim=dim: (np, np.round(x(4, 9, 3)), dim) for dim in (0, 1, -1)]
        for name in ("running_largest", "running_smallest")
    },
    "kthvalue": [lambda x, k=k, dim=dim: (np, x(4, 9, 3), k, dim, k == 2) for k in (1, 2, 3) for dim in (0, 1, -1)],
    "count_below": [
        lambda x, right=right, shape=shape: (np, np.sort(np.nan_to_num(np.round(x(9)))), np.round(x(*shape)), right)
        for right in (True, False)
        for shape in ((), (3, 4))
    ],
    "even_edges": [lambda x, parts=parts: (np, -1.7, 3.1, parts, x(1).dtype) for parts in (1, 7, 100)],
    "extent": [lambda x: (np, np.nan_to_num(x(6, 5))), lambda x: (np, np.nan_to_num(x(6, 5))[:, 2])],
    "counts_between_edges": [
        lambda x: (np, x(30, 2), [np.linspace(-2, 3, n).astype(x(1).dtype) for n in (4, 9)], None, False)
    ],
    "histogram_between": [
        lambda x: (np, np.round(x(4, 9)), np.arange(-2, 4).astype(x(1).dtype), None, False),
        lambda x: (np, x(40), np.arange(-2, 4).astype(x(1).dtype), None, True),
    ],
    "distances": [
        lambda x, p=p, batch=batch: (np, x(*batch, 3, 4), x(*batch, 5, 4), p, None)
        for p in (0, 1, 1.5, 2, 3, float("inf"))
        for batch in ((), (2,))
    ],
    "pair_distances": [lambda x, p=p: (np, x(5, 3), p) for p in (0, 1, 1.5, 2, 3, float("inf"))],
    "cross_product": [lambda x, dim=dim: (np, x(3, 3, 3), x(3, 3, 3), dim) for dim in (0, 1, -1)],
    "diag_embed": [
        lambda x, offset=offset, shape=shape: (np, x(*shape), offset, -2, -1)
        for offset in (0, 2, -3)
        for shape in ((4,), (2, 3))
    ],
    **{
        name: [lambda x, end=end: (np, *end) for end in ((3, 4, 0), (4, 3, 1), (1, 5, 2), (4, 4, -2))]
        for name in ("lower_positions", "upper_positions")
    },
    "evenly_spaced": [lambda x, steps=steps: (np, -1.7, 3.1, steps, x(1).dtype) for steps in (2, 3, 100)],
    "max_pool_gradient": [lambda x: (x(2, 3, 4, 5), [2, 3, 8, 9], np.arange(120).reshape(2, 3, 4, 5) % 72, 2)],
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
