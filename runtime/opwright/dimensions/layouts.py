"""Shapes and dtypes of results, and how they are cut, found out by fakes: no kernel is called for a graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from opwright.dimensions.families import Labels
from opwright.fake.arrays import meta_array, wrap_meta
from opwright.fake.modes import FakeTensorMode
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["Result", "fake", "labelled", "results", "without_labels"]

_FIRST = 1009  # stand-ins for sizes are primes from here on, so that each is told from the others


@dataclass(frozen=True)
class Result:
    """A result: its dtype, and for each dimension the label that it has from operands, or its size."""

    dtype: Any
    labels: tuple[int | None, ...]
    sizes: tuple[int, ...]


def results(
    operator: Operator, values: Sequence[Any], tensors: Mapping[Any, tuple[tuple[float, ...], Any]], labels: Labels
) -> list[Result] | None:
    """Return what a call gives for tensors of these shapes and dtypes; None where it is not cut as labels say.

    Raises what the operator raises. Sizes with labels may be unknown (nan).
    """
    found = labelled(operator, values, tensors, labels)
    wanted = sorted({label for own in labels.values() for label in own if label is not None})
    is_cut = all(sorted([each for each in one.labels if each is not None]) == wanted for one in found or ())
    return found if is_cut else None


def labelled(
    operator: Operator, values: Sequence[Any], tensors: Mapping[Any, tuple[tuple[float, ...], Any]], labels: Labels
) -> list[Result] | None:
    """Return the results of a call, with the label of each dimension that has the size of a labelled one; None if a
    labelled size means something to the operator."""
    shapes = {position: shape for position, (shape, _) in tensors.items()}
    sizes = _sizes(shapes, labels)
    probes = dict(zip(sizes, _primes(shapes), strict=False))
    real = _called(operator, values, tensors, _replaced(shapes, labels, sizes, {}, probes))
    try:
        probed = _called(operator, values, tensors, _replaced(shapes, labels, sizes, probes, probes))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None  # a size that was replaced means something to the operator
    by_size = {probe: label for label, probe in probes.items()}
    return [
        Result(one.dtype, tuple([by_size.get(size) for size in two.shape]), tuple(one.shape))
        for one, two in zip(real, probed, strict=True)
    ]


def without_labels(labels: Labels) -> Labels:
    """Return the labels of a call that needs all of its tensors whole."""
    return {position: (None,) * len(each) for position, each in labels.items()}


def _sizes(shapes: Mapping[Any, Sequence[float]], labels: Labels) -> dict[int, float]:
    """Return the size of each label, to which sizes of 1 broadcast."""
    found: dict[int, float] = {}
    for position, shape in shapes.items():
        for label, size in zip(labels[position], shape, strict=True):
            if label is not None and found.get(label, 1) == 1:
                found[label] = size
    return found


def _replaced(
    shapes: Mapping[Any, Sequence[float]],
    labels: Labels,
    sizes: Mapping[int, float],
    probes: Mapping[int, int],
    unknown: Mapping[int, int],
) -> dict[Any, list[int]]:
    """Return shapes with the sizes of labels replaced by `probes`, and those that are unknown by `unknown`."""
    found: dict[Any, list[int]] = {}
    for position, shape in shapes.items():
        found[position] = []
        for label, size in zip(labels[position], shape, strict=True):
            if label is None:
                if math.isnan(size):
                    raise ValueError("a dimension that is needed whole has unknown sizes: call compute_chunk_sizes()")
                found[position].append(int(size))
            elif size == 1 and sizes[label] != 1:
                found[position].append(1)
            else:
                found[position].append(probes.get(label, unknown[label] if math.isnan(size) else int(size)))
    return found


def _called(
    operator: Operator, values: Sequence[Any], tensors: Mapping[Any, Any], shapes: Mapping[Any, Sequence[int]]
) -> list[Any]:
    mode = FakeTensorMode()
    filled = [list(each) if isinstance(each, list) else each for each in values]
    for key, (_, dtype) in tensors.items():
        made = fake(shapes[key], dtype, mode)
        if isinstance(key, tuple):
            filled[key[0]][key[1]] = made
        else:
            filled[key] = made
    with mode:
        result = operator.call(*filled)
    return [each.array for each in (result if isinstance(result, tuple | list) else (result,)) if each is not None]


def fake(shape: Sequence[int], dtype: Any, mode: FakeTensorMode) -> Tensor:
    """Return a tensor without data."""
    sizes = tuple(shape)
    return wrap_meta(meta_array(sizes, contiguous_strides(sizes), as_dtype(dtype), mode.place(Device("cpu"))))


def _primes(shapes: Mapping[Any, Sequence[float]]) -> Iterator[int]:
    """Yield primes that no size is."""
    taken = {size for shape in shapes.values() for size in shape}
    for number in count(_FIRST, 2):
        if number not in taken and all(number % factor for factor in range(3, math.isqrt(number) + 1, 2)):
            yield number
