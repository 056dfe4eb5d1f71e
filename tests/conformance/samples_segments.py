"""Samples of segments, chunks, hashes, masked positions, and of backward functions that are operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sampling import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT8,
    INT32,
    INT64,
    UINT8,
    Array,
    Sample,
    bfloat16,
    make,
    sample,
)

INF, NAN = float("inf"), float("nan")


def at(*places: object) -> Array:
    return np.array(places, INT64)


def segments() -> Iterator[Sample]:
    for reduce in ("sum", "mean", "max", "min", "prod"):
        for dtype in (FLOAT32, FLOAT64, bfloat16):
            data = make((6, 3), dtype)
            yield sample(data, reduce, lengths=at(1, 0, 3, 2))
            yield sample(data, reduce, offsets=at(0, 2, 2, 6), initial=2)
        rows = make((2, 5, 3), FLOAT32)
        yield sample(rows, reduce, lengths=at([2, 3, 0], [1, 1, 3]), axis=1, unsafe=True)
        yield sample(rows, reduce, offsets=at([0, 4, 5], [0, 0, 5]), axis=1)
        yield sample(make((0,), FLOAT32), reduce, lengths=at(0, 0))
        yield sample(make((4,), FLOAT32), reduce, lengths=at(4), initial=-1.5)
    data = make((4,), FLOAT32)
    yield from (sample(data, "median", lengths=at(4)), sample(data, "sum"), sample(rows, "sum", lengths=at(5), axis=1))


def hashes() -> Iterator[Sample]:
    for dtype in (BOOL, UINT8, INT8, INT32, INT64, FLOAT16, bfloat16, FLOAT32, FLOAT64):
        array = make((3, 4), dtype)
        yield from (sample(array), sample(array, [0]), sample(array, 1, keepdim=True), sample(array[:, ::2], [0, 1]))
    yield from (sample(make((), FLOAT32)), sample(make((0, 3), FLOAT32), [1]), sample(make((0, 3), FLOAT32), [0]))
    yield from (sample(make((0,), FLOAT32)), sample(np.array([NAN, INF, -0.0, 0.0])), sample(make((2,), FLOAT32), [3]))


def chunks() -> Iterator[Sample]:
    for dtype in (FLOAT32, INT64, bfloat16):
        tensors = [make((5, 4), dtype), make((3, 2), dtype, seed=1), make((1, 4), dtype, seed=2)]
        yield from (sample(tensors, 0, 2), sample(tensors, 0, 3), sample(tensors[:1], 0, 1))
    several = [make((2, 5, 3), FLOAT32), make((2, 3), FLOAT32), make((2, 4, 1), FLOAT32)]
    yield from (sample(several, 1, 2), sample(several[:2], 1, 4), sample(several, 1, 0))


def positions() -> Iterator[tuple[list[Array | None], Array]]:
    mask = np.array([True, False, True, True])
    yield [at(0, 7, -1, 2)], mask
    yield [at(0, 1, 2, 0), at(3, 9, -2, -1)], mask
    yield [None, at(1, 3, -4, 0)], mask
    yield [at([0, 1], [-9, 2])], np.array([[True, True], [False, True]])


def masked() -> Iterator[Sample]:
    for dtype, fill in ((FLOAT32, 0.5), (FLOAT64, -1), (INT64, 7), (bfloat16, 2.0)):
        for indices, mask in positions():
            shaped = mask[:, None] if len(indices) == 1 else mask
            yield sample(make((3, 4), dtype), shaped if indices[0] is not None else mask, indices, fill)


def accumulated() -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64, INT64):
        for indices, mask in positions():
            one = len(indices) == 1
            values = make((*mask.shape, 4) if one else (3, 4) if indices[0] is None else mask.shape, dtype, seed=3)
            yield sample(make((3, 4), dtype), mask[..., None] if one else mask, indices, values)


def backwards(*, logarithms: bool) -> Iterator[Sample]:
    for dtype in FLOATS:
        for shape, dim in (((3, 4), 1), ((3, 4), 0), ((2, 3, 4), -2), ((5,), 0), ((), 0)):
            exact = make(shape, FLOAT64, seed=5)
            weights = np.exp(exact) / np.exp(exact).sum(dim, keepdims=True) if shape else np.ones(())
            output = np.log(weights) if logarithms else weights
            yield sample(make(shape, dtype, seed=6), np.asarray(output, dtype), dim, dtype)


def dropped() -> Iterator[Sample]:
    for dtype in FLOATS:
        yield from (sample(make((3, 4), dtype), make((3, 4), BOOL), scale) for scale in (2.0, 1.25, 0.0))


def updated() -> Iterator[Sample]:
    for dtype in (FLOAT32, FLOAT64):
        vectors = [make((3,), dtype, seed=number, low=1, high=4) for number in range(4)]
        for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 2)):
            yield from (
                sample(make(shape, dtype), *parameters, *vectors[2:], momentum, 1e-3)
                for parameters in (vectors[:2], (None, None))
                for momentum in (0.1, 1.0)
            )


SAMPLES: dict[str, Callable[[], Iterable[Sample]]] = {
    "segment_reduce": segments,
    "hash_tensor": hashes,
    "_chunk_cat": chunks,
    "_unsafe_masked_index": masked,
    "_unsafe_masked_index_put_accumulate": accumulated,
    "_softmax_backward_data": lambda: backwards(logarithms=False),
    "_log_softmax_backward_data": lambda: backwards(logarithms=True),
    "native_dropout_backward": dropped,
    "_batch_norm_with_update": updated,
}
