"""Calls of the functions of `nn.functional`, for one dtype of floating-point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

import numpy as np
from sampling import FLOAT16, FLOAT64, INT64, Sample, make, sample

DType = np.dtype
Samples = Callable[..., Iterable[Sample]]  # of a dtype
REDUCTIONS = ("none", "mean", "sum")


def activation(*more: dict[str, object], dtype: DType) -> Iterator[Sample]:
    """With each set of arguments, in a new array and in place."""
    array = make((2, 4, 6), dtype)
    yield from (sample(each, **given) for each in (array, array.transpose(2, 0, 1)) for given in ({}, *more))


def in_place(*more: dict[str, object], dtype: DType) -> Iterator[Sample]:
    yield from activation(*more, {"inplace": True}, dtype=dtype)
    yield from (sample(make((3,), dtype), inplace=True, **given) for given in more)


def normalized(dtype: DType) -> Iterator[Sample]:
    for shape in ((4,), (3, 4), (2, 3, 4), (2, 3, 4, 5)):
        yield from (sample(make(shape, dtype), dim) for dim in (None, 0, -1))
    yield from (sample(make((3, 4), dtype), 1, dtype=other) for other in (FLOAT64, FLOAT16))


def loss(*more: dict[str, object], target: Callable[..., np.ndarray] = make, dtype: DType) -> Iterator[Sample]:
    """Two arrays with each reduction and set of arguments, and with the flags of old."""
    first, second = target((3, 4), dtype), target((3, 4), dtype, seed=1)
    for given, reduction in product(({}, *more), REDUCTIONS):
        yield Sample((first, second), {"reduction": reduction, **given})
    yield sample(first, second)
    yield sample(first, second, reduction="average")


def flagged(samples: Samples, dtype: DType) -> Iterator[Sample]:
    yield from samples(dtype=dtype)
    first = next(iter(samples(dtype=dtype)))
    for average, reduce in product((None, True, False), (None, True, False)):
        yield Sample(first.args, {"size_average": average, "reduce": reduce})


def probabilities(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> np.ndarray:
    return np.asarray(np.abs(make(shape, FLOAT64, seed=seed)) / 6).astype(dtype)


def positive(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> np.ndarray:
    return np.asarray(np.abs(make(shape, FLOAT64, seed=seed)) + 0.5).astype(dtype)


def classes(*shape: int, count: int = 4) -> np.ndarray:
    return make(shape, INT64, low=0, high=count)


def signs(*shape: int) -> np.ndarray:
    return np.asarray(2 * make(shape, INT64, low=0, high=2) - 1)


def weighted(dtype: DType) -> Iterator[Sample]:
    weight = positive((3, 4), dtype, 2)
    yield from loss({"weight": weight}, {"weight": weight[0]}, dtype=dtype)
    yield sample(make((3, 4), dtype), make((4,), dtype))


def gaussian(dtype: DType) -> Iterator[Sample]:
    first, second = make((3, 4), dtype), make((3, 4), dtype, seed=1)
    variances = (positive((3, 4), dtype), positive((3,), dtype), positive((3, 1), dtype), 0.5)
    for var, full, reduction in product(variances, (True, False), REDUCTIONS):
        yield sample(first, second, var, full, reduction=reduction)
    for var in (-1.0, make((3, 4), dtype), positive((4,), dtype)):
        yield sample(make((3, 4), dtype), make((3, 4), dtype), var)


def binary(logits: bool, dtype: DType) -> Iterator[Sample]:
    weights = [{"weight": positive(shape, dtype, 2)} for shape in ((3, 4), (4,))]
    positives = [{"pos_weight": positive((4,), dtype, 3)}] if logits else []
    yield from loss(*weights, *positives, target=probabilities, dtype=dtype)
    yield sample(probabilities((3, 4), dtype), probabilities((4,), dtype))


def of_classes(smoothing: bool, dtype: DType) -> Iterator[Sample]:
    weight = positive((4,), dtype)
    more = ({}, {"weight": weight}, {"ignore_index": 1}, *([{"label_smoothing": 0.1}] if smoothing else []))
    for given, reduction in product(more, REDUCTIONS):
        for shape in ((3,), (2, 3), (2, 3, 2)):
            yield sample(make((shape[0], 4, *shape[1:]), dtype), classes(*shape), reduction=reduction, **given)
        if smoothing:
            yield sample(make((3, 4), dtype), probabilities((3, 4), dtype), reduction=reduction, **given)
    yield sample(make((3, 4), dtype), classes(3), reduction="average")


def margins(dtype: DType) -> Iterator[Sample]:
    for p, reduction in product((1, 2, 3), REDUCTIONS):
        yield sample(make((3, 4), dtype), classes(3), p, 0.5, reduction=reduction)
    yield sample(make((3, 4), dtype), classes(3), weight=positive((4,), dtype))
    yield sample(make((3, 4), dtype), classes(3), weight=positive((4, 1), dtype))


def multilabel(dtype: DType) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield sample(make((3, 4), dtype), make((3, 4), INT64, low=-1, high=4), reduction=reduction)


def signed(count: int, dtype: DType) -> Iterator[Sample]:
    """`count` arrays and a target of signs."""
    arrays = [make((3, 4), dtype, seed=seed) for seed in range(count)]
    target = signs(3) if count == 2 else signs(3, 4)
    for margin, reduction in product((0.0, 0.5), REDUCTIONS):
        yield sample(*arrays, target, margin, reduction=reduction)
    yield sample(*arrays, target)


def rankings(dtype: DType) -> Iterator[Sample]:
    arrays = [make((3, 4), dtype, seed=seed) for seed in range(2)]
    yield from (sample(*arrays, signs(3, 4), 0.5, reduction=reduction) for reduction in REDUCTIONS)
    yield sample(*arrays, signs(4))


def triplets(distance: bool, dtype: DType) -> Iterator[Sample]:
    three = [make((3, 4), dtype, seed=seed, low=-2, high=3) for seed in range(3)]
    for swap, reduction in product((False, True), REDUCTIONS):
        yield sample(*three, swap=swap, reduction=reduction)
    yield sample(*three, margin=0)
    yield sample(*three[:2], three[0][0], margin=2)
    if not distance:
        yield sample(*three, p=1, eps=0.1)


def vectors(*more: tuple[object, ...], dtype: DType) -> Iterator[Sample]:
    first, second = make((3, 4), dtype), make((3, 4), dtype, seed=1)
    yield from (sample(first, second, *given) for given in ((), *more))


def lengths(dtype: DType) -> Iterator[Sample]:
    array = make((2, 3, 4), dtype)
    yield from (sample(array, *given) for given in ((), (1.0,), (3.0, -1), (float("inf"), 0), (2.0, 2, 100.0)))
    yield sample(np.zeros((2, 3), dtype))


def whole(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> np.ndarray:
    """Small integers, whose sums no dtype rounds."""
    return make(shape, INT64, seed=seed, low=-2, high=3).astype(dtype)


def convolutions(ndim: int, transposed: bool, dtype: DType) -> Iterator[Sample]:
    image = whole((2, 4, *range(7, 7 + ndim)), dtype)
    narrow = whole((4, 2, *[3] * ndim), dtype, seed=1)
    wide = whole((4, 4, *[3] * ndim), dtype, seed=1)
    bias = whole((4,), dtype)
    yield from (sample(image, wide), sample(image, wide, bias, 2, 1))
    yield sample(image, narrow, groups=2, dilation=2)
    yield sample(image[0], wide, bias, stride=(2,) * ndim)
    last = {"stride": 2, "padding": 1, "output_padding": 1} if transposed else {"padding": "same"}
    yield Sample((image, wide), last)


def pools(ndim: int, mean: bool, dtype: DType) -> Iterator[Sample]:
    image = make((2, 3, *range(6, 6 + ndim)), dtype)
    yield from (sample(image, 2), sample(image, 3, 2, 1), sample(image[0], 2, ceil_mode=True))
    yield sample(image, (2,) * ndim, stride=(1,) * ndim)
    if mean:
        yield sample(image, 3, 2, 1, True, False)
    else:
        yield from (sample(image, 2, dilation=2), sample(image, 2, return_indices=True))


def adaptive(ndim: int, mean: bool, dtype: DType) -> Iterator[Sample]:
    image = whole((2, 3, *range(6, 6 + ndim)), dtype)
    yield from (sample(image, 3), sample(image[0], 2))
    if ndim > 1:
        yield from (sample(image, (None, *[3] * (ndim - 1))), sample(image, (3,) * ndim))
    if not mean:
        yield sample(image, 3, return_indices=True)


def norms_of_windows(ndim: int, dtype: DType) -> Iterator[Sample]:
    image = positive((2, 3, *range(6, 6 + ndim)), dtype)
    yield from (sample(image, 2.0, 2), sample(image, 3.0, 3, 2), sample(image, 1.5, 4, ceil_mode=True))


def patches(dtype: DType) -> Iterator[Sample]:
    image = make((2, 3, 6, 7), dtype)
    yield from (sample(image, 2), sample(image, (3, 2), 1, 1, 2), sample(image[0], 2, dilation=2))


def folded(dtype: DType) -> Iterator[Sample]:
    yield sample(whole((2, 12, 30), dtype), (6, 7), 2)
    yield sample(whole((2, 12, 9), dtype), 6, (2, 2), stride=2)


def batches(dtype: DType) -> Iterator[Sample]:
    mean, var, weight = make((3,), dtype), positive((3,), dtype), make((3,), dtype, seed=1)
    for shape in ((4, 3), (4, 3, 5), (2, 3, 4, 5)):
        array = make(shape, dtype)
        yield from (sample(array, mean, var), sample(array, mean, var, weight, mean, eps=0.1))
        yield from (
            sample(array, None, None, weight, None, True),
            sample(array, mean, var, training=True, momentum=0.3),
        )
    for array, eps in ((make((1, 3), dtype), 1e-5), (make((4, 3), dtype), 0.0), (make((4, 3), dtype), -1.0)):
        yield sample(array, mean, var, training=True, eps=eps)
    yield sample(make((4, 3), dtype), None, None)


def instances(dtype: DType) -> Iterator[Sample]:
    mean, var, weight = make((3,), dtype), positive((3,), dtype), make((3,), dtype, seed=1)
    for shape in ((4, 3, 5), (2, 3, 4, 5), (4, 3, 1)):
        array = make(shape, dtype)
        yield from (sample(array), sample(array, mean, var, weight, mean), sample(array, mean, var, None, None, False))


def groups(dtype: DType) -> Iterator[Sample]:
    weight, bias = make((6,), dtype), make((6,), dtype, seed=1)
    for shape in ((4, 6), (4, 6, 5), (2, 6, 4, 5)):
        yield from (sample(make(shape, dtype), 3), sample(make(shape, dtype), 2, weight, bias, 0.1))
    yield from (sample(make((1, 6), dtype), 6), sample(make((6,), dtype), 2), sample(make((4, 6), dtype), 4))


def layers(bias: bool, dtype: DType) -> Iterator[Sample]:
    array, weight = make((2, 3, 4), dtype), make((4,), dtype, seed=1)
    yield from (sample(array, [4]), sample(array, [3, 4]), sample(array, [4], weight, eps=0.1))
    if bias:
        yield sample(array, [4], weight, weight)
    yield sample(array, [3])


def responses(dtype: DType) -> Iterator[Sample]:
    for shape in ((2, 6, 4), (2, 6, 4, 3), (2, 6, 4, 3, 2), (2, 6), (2, 0, 4)):
        yield sample(make(shape, dtype), 3)
    yield sample(make((2, 6, 4, 3), dtype), 2, 0.1, 0.5, 2.0)


def dropped(shape: tuple[int, ...], dtype: DType) -> Iterator[Sample]:
    array = make(shape, dtype)
    for given in ({"p": 0.3}, {"p": 0.0}, {"p": 1.0}, {"p": 1.5}):
        yield from (Sample((each,), {"training": True, **given}) for each in (array, array[0]))
    yield from (sample(array), sample(array, training=False), sample(array, 0.3, True, inplace=True))


def linear(dtype: DType) -> Iterator[Sample]:
    weight, bias = whole((5, 4), dtype), whole((5,), dtype)
    for shape in ((4,), (3, 4), (2, 3, 4)):
        yield from (sample(whole(shape, dtype), weight), sample(whole(shape, dtype), weight, bias))
    yield sample(whole((3, 3), dtype), weight)


def bilinear(dtype: DType) -> Iterator[Sample]:
    first, second = whole((2, 3, 4), dtype), whole((2, 3, 5), dtype)
    weight = whole((2, 4, 5), dtype, 1)
    yield from (sample(first, second, weight), sample(first, second, weight, whole((2,), dtype)))


def embeddings(dtype: DType) -> Iterator[Sample]:
    weight, rows = make((6, 3), dtype), classes(2, 4, count=6)
    yield from (sample(rows, weight, padding) for padding in (None, 2, -1))
    yield from (sample(rows, weight, max_norm=2.0), sample(rows, weight, max_norm=3.0, norm_type=1.0))
    yield sample(rows + 6, weight)


def attention(dtype: DType) -> Iterator[Sample]:
    query, key, value = make((2, 4, 3), dtype), make((2, 5, 3), dtype, seed=1), make((2, 5, 6), dtype, seed=2)
    query, key = query / dtype.type(4), key / dtype.type(4)
    yield from (sample(query, key, value), sample(query, key, value, is_causal=True))
    yield sample(query, key, value, make((4, 5), np.dtype("bool")) | np.eye(4, 5, dtype=bool), scale=0.5)
    yield sample(query, key, value, make((2, 4, 5), dtype))


def drawn_classes(dtype: DType) -> Iterator[Sample]:
    for given in ((), (0.5,), (1, True), (2, True, 1e-10, 0)):
        yield sample(make((3, 4), dtype), *given)


def padded(dtype: DType) -> Iterator[Sample]:
    array = make((2, 3, 4, 5), dtype)
    yield from (sample(array, [1, 2]), sample(array, [1, 2, 0, 1], value=2.5), sample(array, [-1, 1, 2, -1]))
    yield from (sample(array, [1, 2, 1, 0], mode) for mode in ("reflect", "replicate", "circular", "mirror"))


MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}


def resized(dtype: DType) -> Iterator[Sample]:
    for ndim in (1, 2, 3):
        image = whole((2, 3, *range(4, 4 + ndim)), dtype)
        for mode in ("nearest", "nearest-exact", "area", MODES[ndim]):
            yield from (sample(image, 8, mode=mode), sample(image, scale_factor=2, mode=mode))
            yield sample(image, scale_factor=[1.5] * ndim, mode=mode, recompute_scale_factor=True)
        yield from (sample(image, 8, mode=MODES[ndim], align_corners=True), sample(image, (5,) * ndim, mode="linear"))
    yield from (sample(image[0], 8, mode="bicubic", align_corners=corners) for corners in (None, True))
    image = whole((2, 3, 4, 5), dtype)
    for given in ({}, {"size": 3, "scale_factor": 2}, {"size": 3, "align_corners": True}, {"size": (1, 2, 3)}):
        yield Sample((image,), given)
    yield from (sample(image, 3, antialias=True), sample(image, 3, recompute_scale_factor=True))
    yield from (sample(image, scale_factor=(2, 2, 2)), sample(image, 3, mode="cubic"), sample(image[0, 0], 3))


def enlarged(dtype: DType) -> Iterator[Sample]:
    yield from (sample(whole((2, 3, 4, 5), dtype), 9), sample(whole((2, 3, 4, 5), dtype), scale_factor=2))


def pooling() -> dict[str, Samples]:
    found: dict[str, Samples] = {}
    for ndim in (1, 2, 3):
        found |= {
            f"conv{ndim}d": partial(convolutions, ndim, False),
            f"conv_transpose{ndim}d": partial(convolutions, ndim, True),
            f"max_pool{ndim}d": partial(pools, ndim, False),
            f"avg_pool{ndim}d": partial(pools, ndim, True),
            f"adaptive_max_pool{ndim}d": partial(adaptive, ndim, False),
            f"adaptive_avg_pool{ndim}d": partial(adaptive, ndim, True),
            f"lp_pool{ndim}d": partial(norms_of_windows, ndim),
        }
    return found


def put_back(ndim: int, dtype: DType) -> Iterator[Sample]:
    sizes, places = (6, 4, 4)[:ndim], np.array([0, 7, 14, 21, 2, 9, 16, 23])[: 2**ndim]
    small = make((2, 3, *[2] * ndim), dtype)
    at = np.broadcast_to((places % (4**ndim if ndim < 3 else 64)).reshape([2] * ndim), small.shape).copy() % 4**ndim
    yield from (sample(small, at, 2), sample(small, at, 2, 2), sample(small[0], at[0], [2] * ndim))
    yield from (sample(small, at, 2, output_size=size) for size in ([5] * ndim, [2, 3, *[5] * ndim], [9] * ndim, [5]))
    yield sample(small, at, 3, 1, 0, list(sizes))


def at_random(ndim: int, dtype: DType) -> Iterator[Sample]:
    """Where the windows are is given: numbers are drawn by other ways."""
    image, drawn = make((2, 3, *(7, 6, 5)[:ndim]), dtype), probabilities((2, 3, ndim), dtype)
    for given in (
        {"output_size": 3},
        {"output_ratio": [0.5] * ndim},
        {"output_size": [2] * ndim, "return_indices": True},
        {},
    ):
        yield Sample((image, 2), {**given, "_random_samples": drawn})


def places(dtype: DType) -> Iterator[Sample]:
    image, at = make((2, 3, 5, 4), FLOAT64).astype(dtype), (make((2, 3, 4, 2), FLOAT64) / 5).astype(dtype)
    for mode, padding in product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")):
        yield from (sample(image, at, mode, padding, aligned) for aligned in (None, True))
    yield from (sample(image, at, "cubic"), sample(image, at, padding_mode="wrap"), sample(image[0], at))


def maps(dtype: DType) -> Iterator[Sample]:
    theta = make((2, 2, 3), dtype)
    for aligned in (None, True, False):
        yield from (sample(theta, size, aligned) for size in ([2, 3, 4, 5], [2, 1, 3, 2]))
    yield from (sample(theta, size) for size in ([2, 3, 4], [2, 3, 4, 5, 6], [2, 3, 0, 5]))
    yield from (sample(make((2, 3, 4), dtype), [2, 3, 4, 5, 6], True), sample(classes(2, 2, 3), [2, 3, 4, 5]))


def bags(dtype: DType) -> Iterator[Sample]:
    table, rows, starts = make((5, 3), dtype), classes(2, 4, count=5), np.array([0, 3, 3])
    for mode in ("sum", "mean", "max", "least"):
        yield from (sample(rows, table, mode=mode), sample(rows.reshape(-1), table, starts, mode=mode))
        yield sample(rows.reshape(-1), table, starts, mode=mode, padding_idx=-2)
    yield sample(rows, table, mode="sum", per_sample_weights=make((2, 4), dtype))
    yield from (sample(rows, table, starts), sample(rows.reshape(-1), table), sample(rows[None], table))


def pairs(dtype: DType) -> Iterator[Sample]:
    yield from (sample(make((4, 3), dtype), *p) for p in ((), (1.0,), (0.0,), (float("inf"),), (-1.0,)))


def sequences(dtype: DType) -> Iterator[Sample]:
    scores = make((6, 2, 4), FLOAT64, low=-2, high=3)
    probs = (scores - np.log(np.exp(scores).sum(-1, keepdims=True))).astype(dtype)
    labels = np.array([[1, 2], [3, 1]])
    for reduction in REDUCTIONS:
        yield sample(probs, labels, [6, 5], [2, 1], reduction=reduction)
        yield sample(probs, labels, np.array([6, 1]), np.array([2, 2]), reduction=reduction, zero_infinity=True)
    yield sample(probs[:, 0], labels[0], [6], [2], reduction="average")


def heads(dtype: DType) -> Iterator[Sample]:
    """Heads whose numbers are small, that their sums of products be alike in short floats."""

    def small(*shape: int, seed: int = 0) -> np.ndarray:
        return (make(shape, FLOAT64, seed=seed) / 8).astype(dtype)

    query, keys = small(3, 2, 4), small(5, 2, 4, seed=1)
    weights = (small(12, 4), small(12), None, None, False, 0.0, small(4, 4), small(4))
    mask = np.triu(np.ones((3, 5), bool), 2)
    for more in ({}, {"attn_mask": mask}, {"attn_mask": small(3, 5)}, {"need_weights": False}, {"is_causal": True}):
        yield Sample((query, keys, keys, 4, 2, *weights), more)
    padding = np.array([[False] * 4 + [True], [False] * 5])
    for more in ({"average_attn_weights": False}, {"attn_mask": mask}, {"need_weights": False}):
        yield Sample((query, keys, keys, 4, 2, *weights), {"key_padding_mask": padding, **more})
    extended = (small(12, 4), None, small(1, 1, 4), small(1, 1, 4, seed=2), True, 0.5, small(4, 4), None, False)
    yield Sample((query, keys, keys, 4, 2, *extended), {"key_padding_mask": padding, "attn_mask": small(4, 3, 5)})
    yield Sample((query[:, 0], keys[:, 0], keys[:, 0], 4, 2, *weights), {"attn_mask": mask})


def of_scores(dtype: DType) -> Iterator[Sample]:
    rows, matrix, at = make((3, 4), dtype), make((5, 4), dtype), classes(3, count=5)
    for given in ({}, {"label_smoothing": 0.2}, {"ignore_index": 1}, {"weight": positive((5,), dtype)}):
        yield Sample((rows, matrix, at), {**given, "linear_bias": make((5,), dtype)})
    yield from (sample(rows, matrix, at, reduction=reduction) for reduction in REDUCTIONS)
    yield from (sample(rows[0], matrix, np.array(at[0])), sample(rows[:, :3], matrix, at), sample(rows, matrix[0], at))
    yield sample(rows, make((5, 2, 4), dtype), classes(3, 2, count=5))


def at_places() -> dict[str, Samples]:
    found = {f"max_unpool{ndim}d": partial(put_back, ndim) for ndim in (1, 2, 3)}
    return found | {f"fractional_max_pool{ndim}d": partial(at_random, ndim) for ndim in (2, 3)}


FUNCTIONS: dict[str, Samples] = {
    **at_places(),
    "grid_sample": places,
    "affine_grid": maps,
    "embedding_bag": bags,
    "pdist": pairs,
    "ctc_loss": sequences,
    "multi_head_attention_forward": heads,
    "linear_cross_entropy": of_scores,
    **dict.fromkeys(("relu", "relu6", "selu", "silu", "mish", "hardsigmoid", "hardswish"), in_place),
    **dict.fromkeys(("logsigmoid", "sigmoid", "softsign", "tanh", "tanhshrink"), activation),
    "elu": partial(in_place, {"alpha": 0.5}),
    "celu": partial(in_place, {"alpha": 0.5}, {"alpha": 0}),
    "leaky_relu": partial(in_place, {"negative_slope": 0.2}),
    "rrelu": partial(in_place, {"lower": 0.2, "upper": 0.3}),
    "hardtanh": partial(in_place, {"min_val": -2.0, "max_val": 1.5}, {"min_val": 2.0, "max_val": 1.0}),
    "threshold": lambda dtype: (Sample((*each.args, 0.5, -1.5), each.kwargs) for each in in_place(dtype=dtype)),
    "prelu": lambda dtype: (
        sample(make(shape, dtype), make(weight, dtype, seed=1))
        for shape, weight in (((2, 3), (1,)), ((2, 3, 4), (3,)), ((2, 3), (2,)))
    ),
    "gelu": partial(activation, {"approximate": "tanh"}),
    "glu": partial(activation, {"dim": 0}, {"dim": 1}),
    **dict.fromkeys(("hardshrink", "softshrink"), partial(activation, {"lambd": 1.5})),
    "softplus": partial(activation, {"beta": 2}, {"threshold": 1}),
    **dict.fromkeys(("softmax", "softmin", "log_softmax"), normalized),
    **dict.fromkeys(("mse_loss", "l1_loss"), partial(flagged, weighted)),
    "huber_loss": weighted,
    "smooth_l1_loss": partial(loss, {"beta": 0.5}, {"beta": 0.0}),
    "kl_div": partial(loss, {"log_target": True}, {"reduction": "batchmean"}),
    "soft_margin_loss": partial(flagged, loss),
    "poisson_nll_loss": partial(loss, {"log_input": False, "full": True, "eps": 0.1}, target=positive),
    "gaussian_nll_loss": gaussian,
    "binary_cross_entropy": partial(binary, False),
    "binary_cross_entropy_with_logits": partial(binary, True),
    "nll_loss": partial(of_classes, False),
    "cross_entropy": partial(of_classes, True),
    "multi_margin_loss": margins,
    "multilabel_margin_loss": multilabel,
    "multilabel_soft_margin_loss": partial(binary, False),
    "hinge_embedding_loss": partial(signed, 1),
    "cosine_embedding_loss": partial(signed, 2),
    "margin_ranking_loss": rankings,
    "triplet_margin_loss": partial(triplets, False),
    "triplet_margin_with_distance_loss": partial(triplets, True),
    "cosine_similarity": partial(vectors, (0,), (1, 100.0)),
    "pairwise_distance": partial(vectors, (1.0,), (3.0, 0.5, True)),
    "normalize": lengths,
    "batch_norm": batches,
    "instance_norm": instances,
    "group_norm": groups,
    "layer_norm": partial(layers, True),
    "rms_norm": partial(layers, False),
    "local_response_norm": responses,
    **dict.fromkeys(("dropout", "dropout1d", "alpha_dropout"), partial(dropped, (4, 3, 5))),
    **dict.fromkeys(("dropout2d", "feature_alpha_dropout"), partial(dropped, (4, 3, 5, 2))),
    "dropout3d": partial(dropped, (4, 3, 5, 2, 2)),
    "linear": linear,
    "bilinear": bilinear,
    "embedding": embeddings,
    "one_hot": lambda dtype: (sample(classes(2, 3), *given) for given in ((), (6,), (2,))),
    "scaled_dot_product_attention": attention,
    "gumbel_softmax": drawn_classes,
    "pad": padded,
    "pixel_shuffle": lambda dtype: (sample(make((2, 8, 3, 4), dtype), factor) for factor in (2, 3)),
    "pixel_unshuffle": lambda dtype: (sample(make((2, 2, 4, 6), dtype), factor) for factor in (2, 3)),
    "channel_shuffle": lambda dtype: (sample(make((2, 6, 3), dtype), groups) for groups in (2, 3, 4)),
    "interpolate": resized,
    **dict.fromkeys(("upsample", "upsample_nearest", "upsample_bilinear"), enlarged),
    "unfold": patches,
    "fold": folded,
    **pooling(),
}
