"""Samples of losses and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

import numpy as np
from sampling import (
    COMPLEX64,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT32,
    INT64,
    UINT8,
    Sample,
    bfloat16,
    expanded,
    laid_out,
    make,
    pairs,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]
Array = np.ndarray
REDUCTIONS = (0, 1, 2)


def operands() -> Iterator[tuple[Array, Array]]:
    """Two arrays of every dtype, special values, pairs of layouts and of dtypes."""
    for dtype in DTYPES:
        yield make((2, 3), dtype), make((2, 3), dtype, seed=1)
    yield from pairs(FLOAT32)
    yield special(FLOAT32)[:, None], special(FLOAT32)
    for first, second in (
        (FLOAT32, FLOAT64),
        (FLOAT64, FLOAT32),
        (FLOAT16, bfloat16),
        (FLOAT32, INT64),
        (INT64, FLOAT32),
    ):
        yield make((2, 3), first), make((3,), second, seed=1)
        yield make((2, 3), first), make((), second, seed=1)


def of_two(*more: tuple[object, ...]) -> Iterator[Sample]:
    """Both operands with each reduction, then with each tuple of arguments behind the reduction."""
    for first, second in operands():
        in_order = first.flags.c_contiguous and second.flags.c_contiguous  # other orders round other partial sums
        yield from (sample(first, second, reduction) for reduction in REDUCTIONS[: 3 if in_order else 1])
    for dtype, reduction, arguments in product((FLOAT32, FLOAT64, bfloat16), REDUCTIONS, more):
        yield sample(make((3, 4), dtype), make((3, 4), dtype, seed=1), reduction, *arguments)
    yield sample(make((3,), FLOAT32), make((3,), FLOAT32))


def probabilities(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> Array:
    return np.asarray(np.abs(make(shape, FLOAT64, seed=seed)) / 6).astype(dtype)


def binary(logits: bool) -> Iterator[Sample]:
    start = make if logits else probabilities
    for dtype, reduction in product(FLOATS, REDUCTIONS):
        array, target = start((2, 3), dtype), probabilities((2, 3), dtype, seed=1)
        weight = make((3,), dtype, seed=2)
        yield from (sample(array, target, each, *((None,) if logits else ()), reduction) for each in (None, weight))
        if logits:
            yield from (sample(array, target, each, weight, reduction) for each in (None, weight))
        yield sample(array.T, target.T, None, *((None,) if logits else ()), reduction)
        yield sample(start((4, 6), dtype)[::2, 1::2].T, probabilities((3, 2), dtype, 1), None)
        yield sample(start((), dtype), probabilities((), dtype, 1), None)
        yield sample(start((0, 3), dtype), probabilities((0, 3), dtype, 1), None)
    ends = np.array([0.0, 1.0, 0.5, 1e-30], np.float32)
    yield sample(np.repeat(ends, 4), np.tile(ends, 4), None, *((None,) if logits else ()), 0)
    yield sample(special(FLOAT32), probabilities((16,), FLOAT32), None, *((None,) if logits else ()), 0)
    yield from (
        sample(make((3,), dtype), make((3,), dtype)) for dtype in (INT64, np.dtype("bool"), np.dtype("complex64"))
    )
    if not logits:
        yield sample(probabilities((3,), FLOAT32), probabilities((3,), FLOAT64))
        yield sample(probabilities((3,), FLOAT32), probabilities((3,), FLOAT32), probabilities((2, 3), FLOAT32), 0)
        yield sample(2 * probabilities((30,), FLOAT32), probabilities((30,), FLOAT32))
        yield sample(probabilities((30,), FLOAT32), 2 * probabilities((30,), FLOAT32))
        yield sample(probabilities((2,), FLOAT32), np.array([0.5, np.nan], np.float32))


def divergence() -> Iterator[Sample]:
    for each in of_two():
        yield each
        yield Sample(each.args, {"log_target": True})
    zeros = np.array([0.0, 0.5, 1.0, np.nan, -1.0, np.inf], np.float32)
    yield sample(zeros[::-1].copy(), zeros, 0)


def counts() -> Iterator[Sample]:
    for first, second in operands():
        for log_input, full, reduction in product((True, False), (True, False), (0, 1)):
            yield sample(first, second, log_input, full, 1e-8, reduction)
    yield sample(make((3,), FLOAT32), make((3,), FLOAT32), True, True, 1e-8, 2)


def classes(shape: tuple[int, ...], count: int, dtype: np.dtype = INT64, seed: int = 0) -> Array:
    return make(shape, dtype, seed=seed, low=0, high=count)


def of_classes(*sizes: tuple[int, ...], image: bool = False) -> Iterator[Sample]:
    """Scores of 4 classes; sizes without them, the batch first. All arguments are given."""
    for dtype, size, reduction in product(FLOATS, sizes, REDUCTIONS):
        scores = make((*size[:1], 4, *size[1:]), dtype)
        target = classes(size, 4)
        weight = np.abs(make((4,), dtype, seed=2))
        for given, ignored in product((None, weight), (-100, 1)):
            yield sample(scores, target, given, reduction, ignored)
    size = sizes[0]
    scores, target = make((*size[:1], 4, *size[1:]), FLOAT32), classes(size, 4)
    wide = make((*size[:1], 8, *size[1:]), FLOAT32)
    for reduction in REDUCTIONS:
        yield sample(wide[:, ::2], target, None, reduction, -100)
        yield sample(np.moveaxis(np.moveaxis(scores, 1, -1).copy(), -1, 1), target, None, reduction, -100)
        yield sample(scores, np.full_like(target, 7), None, reduction, 7)
        yield sample(scores, target + 3, None, reduction, -100)
        yield sample(scores, target - 3, None, reduction, -100)
        yield sample(scores, target.astype(INT32), None, reduction, -100)
        if not image:
            yield sample(scores, target.astype(UINT8), None, reduction, -100)
            yield sample(make((4,), FLOAT32), classes((), 4), None, reduction, -100)
            yield sample(make((4,), FLOAT32), classes((1,), 4), make((4,), FLOAT32), reduction, -100)
            yield sample(make((4,), FLOAT32), classes((), 4), None, reduction, int(classes((), 4)))
        yield sample(scores, target, make((3,), FLOAT32), reduction, -100)
        yield sample(scores, target, make((4, 1), FLOAT32), reduction, -100)
        yield sample(scores, target, make((4,), FLOAT64), reduction, -100)
        yield sample(scores[:1], target, None, reduction, -100)
        yield sample(scores, target[..., None], None, reduction, -100)
        yield sample(scores[:0], target[:0], None, reduction, -100)
    yield from (sample(scores.astype(dtype), target, None, 1, -100) for dtype in (INT64, COMPLEX64))


def of_classes_anywhere() -> Iterator[Sample]:
    yield from of_classes((5,), (5, 2), (2, 2, 3), (2, 1, 2, 3))
    yield sample(make((), FLOAT32), classes((), 1))
    yield sample(make((2, 4, 3), FLOAT32), classes((2, 2), 4))


def cross_entropy() -> Iterator[Sample]:
    for dtype, reduction, smoothing in product(FLOATS, REDUCTIONS, (0.0, 0.2)):
        weight = np.abs(make((4,), dtype, seed=2))
        for size, given in product(((5,), (2, 3), (2, 2, 3)), (None, weight)):
            scores = make((*size[:1], 4, *size[1:]), dtype)
            yield sample(scores, classes(size, 4), given, reduction, -100, smoothing)
            yield sample(scores, classes(size, 4), given, reduction, 1, smoothing)
            yield sample(scores, probabilities(scores.shape, dtype, 1), given, reduction, -100, smoothing)
        yield sample(make((4,), dtype), probabilities((4,), dtype, 1), weight, reduction, -100, smoothing)
        yield sample(make((4,), dtype), classes((), 4), None, reduction, -100, smoothing)
        yield sample(make((0, 4), dtype), probabilities((0, 4), dtype), None, reduction, -100, smoothing)
    scores = make((5, 4), FLOAT32)
    yield from (sample(scores, classes((5,), 4), None, 1, -100, smoothing) for smoothing in (1.0, 1.5))
    yield sample(scores, probabilities((5, 4), FLOAT32), None, 1, 2)
    yield sample(scores, classes((5, 4), 4))
    yield sample(scores, probabilities((5, 4), FLOAT32), make((3,), FLOAT32))
    yield sample(scores, classes((3,), 4))


def margins() -> Iterator[Sample]:
    for dtype, reduction, p in product(FLOATS, REDUCTIONS, (1, 2)):
        weight = make((4,), dtype, seed=2)
        for given in (None, weight):
            yield sample(make((5, 4), dtype), classes((5,), 4), p, 0.5, given, reduction)
    for reduction in REDUCTIONS:
        yield from (sample(make((4,), FLOAT32), classes(shape, 4), 1, 1, None, reduction) for shape in ((), (1,)))
        yield sample(make((), FLOAT32), classes((), 1), 1, 1, None, reduction)
        yield sample(make((1, 4), FLOAT32), classes((), 4), 1, 1, None, reduction)
    scores, target = make((5, 4), FLOAT32), classes((5,), 4)
    yield from (sample(scores, target), sample(scores, target, 3), sample(scores, target + 4))
    yield sample(scores, target[:3])
    yield sample(scores, target.astype(INT32))
    yield sample(scores[:, :0], target)
    yield sample(scores, target, 1, 1, make((3,), FLOAT32))
    yield sample(scores, target, 1, 1, make((4,), FLOAT64))
    yield sample(make((4, 5), FLOAT32).T, target)


def multilabel(reduction: bool) -> Iterator[Sample]:
    for dtype, chosen in product(FLOATS, REDUCTIONS):
        yield sample(make((5, 4), dtype), make((5, 4), INT64, low=-1, high=4), chosen)
        yield sample(make((4,), dtype), make((4,), INT64, low=-1, high=4), chosen)
    for chosen in REDUCTIONS:
        yield from (sample(make(one, FLOAT32), classes(other, 1), chosen) for one in ((), (1,)) for other in ((), (1,)))
        yield sample(make((4, 5), FLOAT32).T, make((4, 5), INT64, low=-1, high=4).T, chosen)
        yield sample(make((3,), FLOAT32), classes((1, 3), 3), chosen)
        yield sample(make((2, 3), FLOAT32), classes((2, 2), 3), chosen)
        yield sample(make((2, 3), FLOAT32), classes((2, 3), 3) + 2, chosen)
        yield sample(make((2, 3), FLOAT32), classes((2, 3), 3, INT32), chosen)
        yield sample(make((2, 0), FLOAT32), classes((2, 0), 1), chosen)
    yield sample(make((0, 3), FLOAT32), classes((0, 3), 3), 0)
    if reduction:
        yield sample(make((2, 3), FLOAT32), classes((2, 3), 3))


def signs(shape: tuple[int, ...], dtype: np.dtype = FLOAT32) -> Array:
    return np.asarray(2 * make(shape, INT64, low=0, high=2) - 1).astype(dtype)


def hinges() -> Iterator[Sample]:
    for dtype, reduction in product(DTYPES, REDUCTIONS):
        yield sample(make((2, 3), dtype), signs((2, 3), INT64), 0.5, reduction)
        yield sample(make((2, 3), dtype), make((3,), dtype, seed=1), 1.0, reduction)
    for first, second in pairs(FLOAT32, low=-1, high=2):
        yield sample(first, np.asarray(np.sign(second)), 2.0, 0)


def rankings() -> Iterator[Sample]:
    for dtype, reduction in product(DTYPES, REDUCTIONS):
        first, second = make((2, 3), dtype), make((2, 3), dtype, seed=1)
        yield sample(first, second, signs((2, 3), INT64), 0.5, reduction)
        yield sample(first, second, make((1, 3), dtype), 0.0, reduction)
    yield sample(make((2, 3), FLOAT32), make((2, 3), FLOAT32), signs((3,)))
    yield sample(make((2, 3), FLOAT32).T, make((2, 3), FLOAT32).T, signs((2, 3)).T, 0.0, 0)


def embeddings() -> Iterator[Sample]:
    for dtype, reduction in product(DTYPES, REDUCTIONS):
        first, second = make((5, 3), dtype), make((5, 3), dtype, seed=1)
        yield sample(first, second, signs((5,), INT64), 0.1, reduction)
        yield sample(first[0], second[0], np.asarray(-1), -0.5, reduction)
    yield sample(make((5, 3), FLOAT32), make((1, 3), FLOAT32), signs((5,)), 0.0, 0)
    yield sample(make((5, 3), FLOAT32), make((5, 3), FLOAT32), signs((5, 3)))
    yield sample(make((3,), FLOAT32), make((5, 3), FLOAT32), signs((5,)))


NORMS = (2.0, 1.0, 0.0, 3.0, 0.5, float("inf"), float("-inf"))


def triplets() -> Iterator[Sample]:
    for dtype, reduction in product(DTYPES, REDUCTIONS):
        three = tuple(make((5, 3), dtype, seed=seed, low=-2, high=3) for seed in range(3))
        yield from (sample(*three, 1.0, 2.0, 1e-6, swap, reduction) for swap in (False, True))
    for p in NORMS:
        yield sample(*(make((5, 3), FLOAT32, seed=seed) for seed in range(3)), 0.5, p)
    yield sample(make((5, 3), FLOAT32), make((5, 3), FLOAT32, seed=1), make((3,), FLOAT32))
    yield sample(make((5, 3), FLOAT32), make((1, 3), FLOAT32, seed=1), make((5, 3), FLOAT32), 1.0, 2.0, 1e-6, False, 0)


def distances() -> Iterator[Sample]:
    for dtype in DTYPES:
        first, second = make((4, 3), dtype, low=-2, high=3), make((4, 3), dtype, seed=1, low=-2, high=3)
        yield from (sample(first, second, p, 1e-6, keepdim) for p in NORMS for keepdim in (False, True))
    for first, second in pairs(FLOAT32):
        yield sample(first, second)


def similarities() -> Iterator[Sample]:
    for dtype in DTYPES:
        yield from (sample(make((4, 3), dtype), make((4, 3), dtype, seed=1), dim) for dim in (0, 1, -1))
    for first, second in pairs(FLOAT32):
        yield from (sample(first, second, dim, 1e-8) for dim in (0, 1, -1))
    zeros = np.zeros((2, 3), np.float32)
    yield from (sample(zeros, make((2, 3), FLOAT32)), sample(zeros, zeros, 1, 0.5))
    yield sample(make((2, 3), FLOAT32), make((2, 3), FLOAT64))
    yield sample(expanded(make((1, 3), FLOAT32), (4, 3)), laid_out("contiguous", FLOAT32)[0, :1, :3])


SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(("mse_loss", "l1_loss", "kl_div", "soft_margin_loss"), of_two),
    "smooth_l1_loss": partial(of_two, (0.5,), (3.0,), (0.0,), (-1.0,)),
    "huber_loss": partial(of_two, (0.5,), (3.0,), (0.0,), (-1.0,)),
    "kl_div": divergence,
    "binary_cross_entropy": partial(binary, False),
    "binary_cross_entropy_with_logits": partial(binary, True),
    "poisson_nll_loss": counts,
    **dict.fromkeys(("nll_loss", "nll_loss_forward"), partial(of_classes, (5,))),
    **dict.fromkeys(("nll_loss2d", "nll_loss2d_forward"), partial(of_classes, (2, 2, 3), image=True)),
    "nll_loss_nd": of_classes_anywhere,
    "cross_entropy_loss": cross_entropy,
    "multi_margin_loss": margins,
    "multilabel_margin_loss": partial(multilabel, True),
    "multilabel_margin_loss_forward": partial(multilabel, False),
    "hinge_embedding_loss": hinges,
    "margin_ranking_loss": rankings,
    "cosine_embedding_loss": embeddings,
    "triplet_margin_loss": triplets,
    "pairwise_distance": distances,
    "cosine_similarity": similarities,
}
