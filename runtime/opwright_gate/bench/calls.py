"""The calls that are timed: drawn as the gate draws them, and grown along the dimensions that may be cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from opwright.cost.parts import cost
from opwright.dimensions.deriving import rule_of
from opwright_core.arrays.dtypes import DType
from opwright_gate.cases import Array, Case, drawn
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject

__all__ = ["call_for"]

Shapes = Sequence[tuple[int, ...]]


def call_for(subject: Subject, dtype: DType, elements: int, shapes: Shapes = ()) -> Case | None:
    """Return a call with arrays of `dtype` where that is taken, the largest of about so many elements, or arrays of
    these shapes; None where no call is found that is taken.

    Arrays are repeated along factors that may be cut: values stay what they may be. What has none stays small.
    """
    samples = Samples(subject)
    case = samples.bases.get(dtype) or samples.first
    if case is None:
        return None
    if shapes:
        given = iter(shapes)
        shaped = case.converted(lambda a, place: _shaped(a, next(given, a.values.shape), place))
        return shaped if subject.refusal(shaped) is None else None
    for share in (elements, elements // 16, elements // 256):
        grown = _grown(subject, case, share)
        if grown is not None and _is_moderate(subject, grown, elements) and subject.refusal(grown) is None:
            return grown
    return case


def _is_moderate(subject: Subject, case: Case, elements: int) -> bool:
    """Whether a call writes no more than some such arrays, and takes no seconds."""
    try:
        found = cost(subject.operator.call, *case.call(subject.operator).arguments)
    except Exception:
        return False
    return found.written <= 64 * elements and found.flops <= 1024 * elements


def _shaped(array: Array, shape: tuple[int, ...], place: int) -> Array:
    values = array.values
    high = int(values.max(initial=1)) + 1 if values.dtype.kind in "iu" else 4
    return drawn(shape, values.dtype, place, high)


def _grown(subject: Subject, case: Case, elements: int) -> Case | None:
    """Return the call with each factor that may be cut as many times as long; None where there is none."""
    arrays = [each.values for each in case.arrays]
    try:
        rule = rule_of(subject.operator, case.call(subject.operator).arguments)
    except Exception:
        return None
    factors = set(rule.of_kind("parallel", "sum", "max", "min", "again") or rule.factors)
    if len(rule.operands) != len(arrays) or not factors:
        return None
    counts = [sum(name in factors for name in own) for own in rule.operands]
    sizes = [(max(array.size, 1), count) for array, count in zip(arrays, counts, strict=True) if count]
    times = min(math.ceil((elements / size) ** (1 / count)) for size, count in sizes)
    if times <= 1:
        return None
    owns = iter(rule.operands)

    def grow(array: Array, place: int) -> Array:
        return Array(np.tile(array.values, [times if name in factors else 1 for name in next(owns)]))

    return case.converted(grow)
