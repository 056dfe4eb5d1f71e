"""Samples of backward functions that are operators: of losses, norms, embeddings, shapes, windows and images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np
from sampling import BOOL, FLOAT32, FLOAT64, INT64, Array, Sample, make, sample

Samples = Callable[[], Iterable[Sample]]
DTYPES = (FLOAT32, FLOAT64)
EPS = 1e-3


def alternating(*options: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All combinations, each in one dtype, with the other dtype for the next."""
    yield from ((dtype, *chosen) for dtype, chosen in zip(cycle(DTYPES), product(*options), strict=False))


def at(*places: object) -> Array:
    return np.array(places, INT64)


# Losses


def losses(*more: object, weights: bool = False, low: int = -5, high: int = 6) -> Iterator[Sample]:
    """Operands of several shapes, with each reduction."""
    for dtype, shape, reduction in alternating(((2, 3), (5,), ()), (0, 1, 2)):
        grad = make(shape if reduction == 0 else (), dtype, seed=3)
        x = np.asarray((make(shape, dtype) - low + 0.1) / (high - low + 0.2)) if weights else make(shape, dtype)
        target = make(shape, dtype, seed=1, low=low, high=high)
        if weights:
            share, weights_of = (np.asarray(np.abs(each)) for each in (target / 6, x))
            yield from (sample(grad, x, share, weight, reduction) for weight in (None, weights_of))
        else:
            yield sample(grad, x, target, reduction, *more)


def signs() -> Iterator[Sample]:
    for one in losses():
        grad, x, target, reduction = one.args
        yield sample(grad, x, np.asarray(np.where(target > 0, 1, -1), x.dtype), reduction)


def classes(*, image: bool) -> Iterator[Sample]:
    for dtype, reduction, ignored in alternating((0, 1, 2), (-100, 1)):
        shape, kept = ((2, 3, 2, 2), (2, 2, 2)) if image else ((4, 3), (4,))
        target = make(kept, INT64, low=0, high=3)
        for weight in (None, make((3,), dtype, low=1, high=4)):
            used = target != ignored
            total = np.asarray(used.sum() if weight is None else (weight[target] * used).sum(), dtype)
            grad = make(kept if reduction == 0 else (), dtype, seed=3)
            yield sample(grad, make(shape, dtype), target, weight, reduction, ignored, total)


def margins(*, several: bool) -> Iterator[Sample]:
    for dtype, reduction in alternating((0, 1, 2)):
        x, grad = make((4, 3), dtype), make((4,) if reduction == 0 else (), dtype, seed=3)
        if several:
            target = at([0, -1, 2], [2, 1, -1], [1, 0, 2], [-1, 0, 1])
            marks = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]], dtype)
            yield sample(grad, x, target, reduction, marks)
        else:
            for p, weight in product((1, 2), (None, make((3,), dtype, low=1, high=4))):
                yield sample(grad, x, at(0, 2, 1, 1), p, 1.5, weight, reduction)


# Normalisation and embeddings


def given(weight: Array | None) -> list[bool]:
    """Which gradients are asked for: of what is not there PyTorch's kernels cannot be asked."""
    return [True, weight is not None, weight is not None]


def layers() -> Iterator[Sample]:
    for dtype, inner in alternating(((4,), (3, 4))):
        x = make((2, 3, 4), dtype)
        dims = tuple(range(3 - len(inner), 3))
        mean, rstd = x.mean(dims, keepdims=True), 1 / np.sqrt(x.var(dims, keepdims=True) + EPS)
        for weight in (make(inner, dtype, seed=1), None):
            bias = None if weight is None else make(inner, dtype, seed=2)
            yield sample(make(x.shape, dtype, seed=3), x, list(inner), mean, rstd, weight, bias, given(weight))


def groups() -> Iterator[Sample]:
    for dtype, group in alternating((1, 2, 4)):
        x = make((2, 4, 3), dtype)
        inner = x.reshape(2, group, -1)
        mean, rstd = inner.mean(-1), 1 / np.sqrt(inner.var(-1) + EPS)
        for weight in (make((4,), dtype, seed=1), None):
            yield sample(make(x.shape, dtype, seed=3), x, mean, rstd, weight, 2, 4, 3, group, given(weight))


def batches(*, reserved: bool) -> Iterator[Sample]:
    for dtype, training in alternating((True, False)):
        x = make((4, 3, 2), dtype)
        mean, rstd = x.mean((0, 2)), 1 / np.sqrt(x.var((0, 2)) + EPS)
        running = [make((3,), dtype, seed=4), make((3,), dtype, seed=5, low=1, high=3)]
        weight = make((3,), dtype, seed=1)
        more = (np.zeros(0, np.uint8),) if reserved else ()
        yield sample(make(x.shape, dtype, seed=3), x, weight, *running, mean, rstd, training, EPS, [True] * 3, *more)


def rows(*sparse: bool) -> Iterator[Sample]:
    for dtype, padding, by_frequency in alternating((-1, 2), (False, True)):
        for indices in (at(0, 2, 2, 4), at([1, 2], [2, 0])):
            yield sample(make((*indices.shape, 3), dtype), indices, 5, padding, by_frequency, *sparse)


def bags(*, dense: bool) -> Iterator[Sample]:
    indices, offsets, of, sizes = at(0, 2, 2, 4, 1), at(0, 2, 2), at(0, 0, 2, 2, 2), at(2, 0, 3)
    for dtype, mode, padding in alternating((0, 1), (-1,)):
        grad = make((3, 2), dtype)
        for by_frequency in (False, True):
            places = (indices,) if dense else (indices, offsets)
            rest = (by_frequency, mode) if dense else (by_frequency, mode, False)
            weights = make((5,), dtype, seed=1) if mode == 0 else None
            yield sample(grad, *places, of, sizes, at(), 5, *rest, weights, padding)


def weights_of_bags() -> Iterator[Sample]:
    for dtype, padding in alternating((-1, 2)):
        table = make((5, 2), dtype, seed=1)
        yield sample(make((3, 2), dtype), table, at(0, 2, 2, 4, 1), at(0, 2, 2), at(0, 0, 2, 2, 2), 0, padding)


# Shapes and indexing


def of_parts(shape: tuple[int, ...], *more: object) -> Iterator[Sample]:
    yield from (sample(make(shape, dtype), *more) for dtype in DTYPES)


def selected() -> Iterator[Sample]:
    yield from of_parts((2, 4), [2, 3, 4], 1, 2)
    yield from of_parts((2, 3), [2, 3, 4], -1, -2)


def sliced() -> Iterator[Sample]:
    yield from of_parts((2, 2), [2, 5], 1, 0, 4, 2)
    yield from of_parts((2, 5), [4, 5], 0, 1, 3, 1)


def diagonals() -> Iterator[Sample]:
    yield from of_parts((3, 2), [3, 4, 2], 0, 0, 2)
    yield from of_parts((3,), [3, 4], 1, 0, 1)


def folded() -> Iterator[Sample]:
    yield from of_parts((2, 2, 3), [2, 5], 1, 3, 2)
    yield from of_parts((3, 2), [4], 0, 2, 1)


def indexed() -> Iterator[Sample]:
    yield from of_parts((2, 3), [2, 4], 1, at(0, 3, 0))


def gathered() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((2, 4), dtype), 1, at([0, 3, 0], [1, 1, 2]), False)


def masked() -> Iterator[Sample]:
    mask = np.array([[True, False, True], [False, False, True]])
    for dtype in DTYPES:
        yield sample(make((3,), dtype), make((2, 3), dtype), mask)
        yield sample(make((4,), dtype), make((2, 1, 3), dtype), np.array([True, False, True]))


def scattered() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype), make((2, 3), BOOL), [6])
        yield sample(make((2, 3), dtype), np.ones((2, 3), bool), [2, 4])


def chosen() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2,), dtype), 1, at(0, 3), [2, 4], False)
        yield sample(make((2, 1), dtype), 1, at([0], [3]), [2, 4], True)


def running(*, product_of: bool) -> Iterator[Sample]:
    for dtype in DTYPES:
        x = make((2, 4), dtype, low=1, high=4)
        if product_of:
            x[0, 1] = 0
            yield sample(make((2, 4), dtype, seed=1), x, 1, x.cumprod(1))
        else:
            yield sample(make((2, 4), dtype, seed=1), x, at([0, 0, 2, 2], [0, 1, 1, 1]), 1)


def padded(dims: int) -> Iterator[Sample]:
    for dtype in DTYPES:
        shape, padding = (2, *range(3, 3 + dims)), [1, 2, 0, 1, 2, 2][: 2 * dims]
        sizes = [size + padding[2 * place] + padding[2 * place + 1] for place, size in enumerate(shape[:0:-1])]
        yield sample(make((2, *sizes[::-1]), dtype, seed=1), make(shape, dtype), padding)
        yield sample(make((1, 2, *sizes[::-1]), dtype, seed=1), make((1, *shape), dtype), padding)


# Matrices and distances


def exponentials() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((3, 3), dtype) / 5, make((3, 3), dtype, seed=1))


def distances(*, pairs: bool) -> Iterator[Sample]:
    for dtype, p in alternating((1.0, 2.0, 3.0)):
        first = make((4, 3), dtype)
        second = first if pairs else make((5, 3), dtype, seed=1)
        between = (np.abs(first[:, None] - second[None]) ** p).sum(-1) ** (1 / p)
        if pairs:
            result = np.asarray(between[np.triu_indices(4, 1)], dtype)
            yield sample(make((6,), dtype, seed=2), first, p, result)
        else:
            yield sample(make((4, 5), dtype, seed=2), first, second, p, np.asarray(between, dtype))


# Convolution, pooling, images


def convolved() -> Iterator[Sample]:
    none, one, two = [0, 0], [1, 1], [2, 2]
    for dtype in DTYPES:
        x = make((2, 4, 5, 6), dtype)
        for stride, padding, group, shape in ((one, none, 1, (3, 4)), (two, one, 2, (3, 3)), (one, one, 1, (5, 6))):
            weight = make((2, 4 // group, 3, 3), dtype, seed=1)
            grad = make((2, 2, *shape), dtype, seed=2)
            yield sample(grad, x, weight, [2], stride, padding, one, False, none, group, [True] * 3)
        whole = (two, none, one, True, none, 1, [True] * 3)
        yield sample(make((2, 3, 11, 13), dtype), x, make((4, 3, 3, 3), dtype), [3], *whole)
        line, rest = make((2, 3, 7), dtype), ([1], [0], [1], False, [0], 1, [True, True, False])
        yield sample(make((2, 2, 5), dtype), line, make((2, 3, 3), dtype), None, *rest)


def averaged(dims: int) -> Iterator[Sample]:
    for dtype, counted, divisor in alternating((True, False), (None, 3)):
        x = make((2, 2, *[6] * dims), dtype)
        for size, stride, padding, result in (([2], [], [0], 3), ([3], [2], [1], 3)):
            grad = make((2, 2, *[result] * dims), dtype, seed=1)
            yield sample(grad, x, size * dims, stride * dims, padding * dims, False, counted, divisor)


def adapted(dims: int) -> Iterator[Sample]:
    for dtype in DTYPES:
        yield sample(make((2, 2, *[3] * dims), dtype, seed=1), make((2, 2, *[5] * dims), dtype))
        yield sample(make((2, *[2] * dims), dtype, seed=1), make((2, *[4] * dims), dtype))


def maxima(dims: int, *more: object) -> Iterator[Sample]:
    """Where the maxima stand: the first of each window of two."""
    for dtype in DTYPES:
        places = np.arange(4**dims).reshape([4] * dims)[(slice(None, None, 2),) * dims]
        indices = np.ascontiguousarray(np.broadcast_to(places, (2, 2, *places.shape)))
        yield sample(make(indices.shape, dtype, seed=1), make((2, 2, *[4] * dims), dtype), *more, indices)


def resized(dims: int, *corners: bool) -> Iterator[Sample]:
    for dtype in DTYPES:
        for size, result in ((3, 6), (4, 3), (5, 8)):
            for aligned in corners or (None,):
                given = () if aligned is None else (aligned,)
                grad = make((2, 2, *[result] * dims), dtype)
                yield sample(grad, [result] * dims, [2, 2, *[size] * dims], *given, *[None] * dims)


def at_places(dims: int) -> Iterator[Sample]:
    for dtype, mode, padding, aligned in alternating((0, 1), (0, 1), (False, True)):
        x = make((2, 2, *[4] * dims), dtype)
        grid = make((2, *[3] * dims, dims), dtype, seed=1) / 4
        grad = make((2, 2, *[3] * dims), dtype, seed=2)
        yield sample(grad, x, np.asarray(grid, dtype), mode, padding, aligned, [True, True])


SAMPLES: dict[str, Samples] = {
    "mse_loss_backward": losses,
    "huber_loss_backward": partial(losses, 1.5),
    "smooth_l1_loss_backward": partial(losses, 0.5),
    "soft_margin_loss_backward": signs,
    "binary_cross_entropy_backward": partial(losses, weights=True),
    "nll_loss_backward": partial(classes, image=False),
    "nll_loss2d_backward": partial(classes, image=True),
    "multi_margin_loss_backward": partial(margins, several=False),
    "multilabel_margin_loss_backward": partial(margins, several=True),
    "native_layer_norm_backward": layers,
    "native_group_norm_backward": groups,
    "native_batch_norm_backward": partial(batches, reserved=False),
    "batch_norm_backward": partial(batches, reserved=True),
    "embedding_backward": partial(rows, False),
    "embedding_dense_backward": rows,
    "_embedding_bag_backward": partial(bags, dense=False),
    "_embedding_bag_dense_backward": partial(bags, dense=True),
    "_embedding_bag_per_sample_weights_backward": weights_of_bags,
    "select_backward": selected,
    "slice_backward": sliced,
    "diagonal_backward": diagonals,
    "trace_backward": partial(of_parts, (), [3, 4]),
    "unfold_backward": folded,
    "index_select_backward": indexed,
    "gather_backward": gathered,
    "masked_select_backward": masked,
    "masked_scatter_backward": scattered,
    "value_selecting_reduction_backward": chosen,
    "cummaxmin_backward": partial(running, product_of=False),
    "cumprod_backward": partial(running, product_of=True),
    **{
        f"{kind}_pad{dims}d_backward": partial(padded, dims)
        for kind in ("reflection", "replication")
        for dims in (1, 2, 3)
    },
    "matrix_exp_backward": exponentials,
    "_cdist_backward": partial(distances, pairs=False),
    "_pdist_backward": partial(distances, pairs=True),
    "convolution_backward": convolved,
    "avg_pool2d_backward": partial(averaged, 2),
    "avg_pool3d_backward": partial(averaged, 3),
    "_adaptive_avg_pool2d_backward": partial(adapted, 2),
    "_adaptive_avg_pool3d_backward": partial(adapted, 3),
    "max_pool3d_with_indices_backward": partial(maxima, 3, [2] * 3, [2] * 3, [0] * 3, [1] * 3, False),
    "adaptive_max_pool2d_backward": partial(maxima, 2),
    "adaptive_max_pool3d_backward": partial(maxima, 3),
    "fractional_max_pool2d_backward": partial(maxima, 2, [2, 2], [2, 2]),
    "fractional_max_pool3d_backward": partial(maxima, 3, [2] * 3, [2] * 3),
    **{f"upsample_nearest{dims}d_backward": partial(resized, dims) for dims in (1, 2, 3)},
    **{f"_upsample_nearest_exact{dims}d_backward": partial(resized, dims) for dims in (1, 2, 3)},
    "upsample_linear1d_backward": partial(resized, 1, False, True),
    "upsample_bilinear2d_backward": partial(resized, 2, False, True),
    "upsample_trilinear3d_backward": partial(resized, 3, False, True),
    "upsample_bicubic2d_backward": partial(resized, 2, False, True),
    "_upsample_bilinear2d_aa_backward": partial(resized, 2, False, True),
    "_upsample_bicubic2d_aa_backward": partial(resized, 2, False, True),
    "grid_sampler_2d_backward": partial(at_places, 2),
    "grid_sampler_3d_backward": partial(at_places, 3),
}
