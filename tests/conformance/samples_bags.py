"""Samples of bags of rows, of distances of pairs, and of losses of sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sampling import DTYPES, FLOAT32, FLOAT64, FLOATS, INT32, Sample, make, sample, special

from opwright_kernels.layers.alignments import alignment_losses

Samples = Callable[[], Iterable[Sample]]
INDICES, OFFSETS = np.array([0, 1, 3, 1, 2]), np.array([0, 2, 2])


def bags(*padding: object) -> Iterator[Sample]:
    """All arguments are given, but for the last: the row that stands for none."""
    for dtype in DTYPES:
        for mode in (0, 1, 2):
            yield sample(make((4, 3), dtype), INDICES, OFFSETS, False, mode, False, None, False, *padding)
    table = make((4, 3), FLOAT32)
    weights = make((5,), FLOAT32, seed=1)
    for mode in (0, 1, 2, 3):
        for at in (OFFSETS[:1], np.array([0, 0, 5]), OFFSETS + 1, 3 * OFFSETS):
            yield sample(table, INDICES, at, False, mode, False, None, False, *padding)
        yield sample(table, INDICES, np.array([0, 2, 5]), False, mode, False, None, True, *padding)
        yield sample(table, INDICES.astype(INT32), OFFSETS.astype(INT32), False, mode, False, None, False, *padding)
        for at in (INDICES[:0], INDICES + 1, INDICES - 1, make((5,), FLOAT32)):
            yield sample(table, at, OFFSETS[:1], False, mode, False, None, False, *padding)
        yield sample(table.astype(FLOAT64), INDICES, OFFSETS, False, mode, False, None, False, *padding)
        if mode:  # of sums, more is told where rows are not dense, which vmap changes
            yield sample(make((3, 4), FLOAT32).T, INDICES, OFFSETS, False, mode, False, None, False, *padding)
    for given in (weights, weights[:4], weights.astype(FLOAT64)):
        yield from (sample(table, INDICES, OFFSETS, False, mode, False, given, False, *padding) for mode in (0, 1))
    yield from (
        sample(each, INDICES, OFFSETS, False, 0, False, None, False, *padding) for each in (table[0], table[None])
    )


def padded(*paddings: object) -> Iterator[Sample]:
    for padding in paddings:
        yield from bags(padding)


def pairs(dtypes: Iterable[np.dtype]) -> Iterator[Sample]:
    for dtype in dtypes:
        yield from (sample(make((4, 3), dtype), p) for p in (0.0, 1.0, 2.0, 1.5, 3.0, float("inf")))
    x = make((5, 3), FLOAT32)
    yield from (sample(each, 2.0) for each in (x[0], np.repeat(x, 2, 0)))
    yield from (sample(special(FLOAT32)[:, None], p) for p in (0.0, 1.0, 2.0))
    yield sample(x)


def negative() -> Iterator[Sample]:
    yield from pairs(DTYPES)
    yield from (sample(make((5, 3), FLOAT32), -1.0), sample(make((3, 5), FLOAT32).T, 2.0))


def log_probabilities(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    values = make(shape, FLOAT64, low=-2, high=3)
    return (values - np.log(np.exp(values).sum(-1, keepdims=True))).astype(dtype)


def sequences(*reductions: int) -> Iterator[Sample]:
    """All arguments are given, but for whether infinite losses are zero."""
    labels, row = np.array([[1, 2, 2], [3, 1, 1]]), np.array([1, 2, 2, 3, 1])
    rest = [(0, each) for each in reductions] or [(0,)]
    for dtype in FLOATS:
        probs = log_probabilities((6, 2, 4), dtype)
        for each in rest:
            yield sample(probs, labels, [6, 5], [3, 2], *each)
            yield sample(probs, row, [6, 5], [3, 2], *each)
            yield sample(probs, labels.astype(INT32), [6, 2], [0, 2], *each)
            yield sample(probs, labels, [3, 2], [3, 3], *each, True)
    probs = log_probabilities((6, 2, 4), FLOAT32)
    last = rest[0]
    yield from (
        sample(probs, labels, *lengths, *last) for lengths in (([6, 7], [1, 1]), ([6], [1, 1]), ([6, 6], [4, 1]))
    )
    yield from (
        sample(probs, labels, *lengths, *last) for lengths in (([6, 0], [2, 0]), ([6, 6], [2, -1]), ([6, 6], [1]))
    )
    yield from (sample(probs, labels, [6, 6], [2, 1], blank, *last[1:]) for blank in (3, 4, -1))
    yield from (sample(probs, each, [6, 6], [2, 1], *last) for each in (labels[:1], row))
    yield sample(make((6, 2, 4), FLOAT32).astype(np.int64), labels, [6, 6], [2, 1], *last)
    yield sample(np.swapaxes(log_probabilities((2, 6, 4), FLOAT32), 0, 1), labels, [6, 6], [3, 3], *last)
    if reductions:
        yield sample(probs[:, 0], labels[0], [6], [3], *last)


def as_tensors(*reductions: int) -> Iterator[Sample]:
    for one in sequences(*reductions):
        probs, labels, *lengths = one.args
        yield Sample((probs, labels, *(np.array(each) for each in lengths[:2]), *lengths[2:]))


def gradients() -> Iterator[Sample]:
    """Of losses that a kernel gave."""
    labels = np.array([[1, 2, 2], [3, 1, 1]])
    for dtype in (FLOAT32, FLOAT64):
        probs, grad = log_probabilities((6, 2, 4), dtype), make((2,), dtype)
        for lengths in (([6, 6], [3, 2]), ([6, 4], [0, 2]), ([2, 6], [3, 1])):
            losses, sums = alignment_losses(np, probs, labels, *lengths, 0, False)
            yield from (sample(grad, probs, labels, *lengths, losses, sums, 0, zero) for zero in (False, True))


SAMPLES: dict[str, Samples] = {
    "embedding_bag": bags,
    "embedding_bag.padding_idx": partial(padded, None, 1, -1, -5),
    "_embedding_bag": partial(padded, -1, 1),
    "_embedding_bag_forward_only": partial(padded, -1, 1),
    "pdist": negative,
    "_pdist_forward": partial(pairs, (FLOAT32, FLOAT64)),
    "ctc_loss.IntList": partial(sequences, 0, 1, 2),
    "ctc_loss.Tensor": partial(as_tensors, 0, 1, 2),
    "_ctc_loss": sequences,
    "_ctc_loss_backward": gradients,
    "_ctc_loss.Tensor": as_tensors,
}
