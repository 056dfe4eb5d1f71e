"""Operands cut as a rule says, and results of parts put together: in NumPy, without any framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from opwright.dimensions.kinds import Kind
from opwright.dimensions.rule import DimensionRule

__all__ = ["Part", "ends_of", "lengthened", "parts_of", "put_together", "summands"]

Arrays = Sequence[np.ndarray[Any, Any]]
_BY: dict[str, Callable[[Any, Any], Any]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Part(NamedTuple):
    """The operands of one part, and where what counts of its results begins and ends along the factor."""

    operands: list[np.ndarray[Any, Any]]
    first: int
    last: int


def ends_of(size: int, count: int) -> list[int]:
    """Return where `count` uneven parts of a dimension end, of which each has an element more than the one before, as
    far as there are enough."""
    weights = np.cumsum([0, *range(1, count + 1)])
    return sorted({int(size * each // weights[-1]) for each in weights})


def parts_of(rule: DimensionRule, factor: str, arrays: Arrays, ends: Sequence[int]) -> list[Part]:
    """Return the parts of operands that are cut at `ends` of a factor: blocks of those that have it, others whole. A
    window takes its neighbours along."""
    kind = rule.kind(factor)
    size = rule.size(factor, [array.shape for array in arrays])
    found = []
    for start, stop in pairwise(ends):
        low, high = max(0, start - kind.before), min(size, stop + kind.after)
        blocks = [
            array[(slice(None),) * own.index(factor) + (slice(low, high),)] if factor in own else array
            for array, own in zip(arrays, rule.operands, strict=True)
        ]
        found.append(Part(blocks, start - low, stop - low))
    return found


def lengthened(rule: DimensionRule, arrays: Arrays, count: int, most: int = 1 << 14) -> list[np.ndarray[Any, Any]]:
    """Return operands that are repeated, a little less each time, along what may be cut: into `count` blocks of one
    size, each as long as a window. None has more than `most` elements."""
    found = list(arrays)
    for name in rule.factors:
        kind = rule.kind(name)
        size = rule.size(name, [array.shape for array in found])
        times = 1
        while (size and (size * times) % count) or size * times < count * (kind.before + kind.after):
            times += 1
        held = [place for place, own in enumerate(rule.operands) if name in own]
        if kind.word == "whole" or times == 1 or any(found[place].size * times > most for place in held):
            continue
        for place in held:
            own = found[place]
            shares = [1 - turn / 16 if own.dtype.kind in "fc" else 1 for turn in range(times)]
            parts = [(own * share).astype(own.dtype) for share in shares]
            found[place] = np.concatenate(parts, rule.operands[place].index(name))
    return found


def summands(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return two arrays whose sum is an array, with no bit lost: of other signs, and by other shares from element to
    element, so that only what is linear makes nothing of it."""
    shares = np.resize(np.array([-1, 0.5, 2, -1, 2]), array.size).reshape(array.shape)
    return (array * shares).astype(array.dtype), (array * (1 - shares)).astype(array.dtype)


def put_together(
    rule: DimensionRule,
    factor: str,
    made: Sequence[Arrays],
    parts: Sequence[Part],
    again: Callable[[np.ndarray[Any, Any]], Arrays] | None = None,
) -> list[np.ndarray[Any, Any]]:
    """Return the results of the whole of those of parts. `again` calls the operator on an operand, for what it puts
    together itself. Raises ValueError where results have not the shapes that the rule needs."""
    kind = rule.kind(factor)
    if {len(results) for results in made} != {len(rule.results)}:
        raise ValueError(f"parts have {[len(results) for results in made]} results, and not {len(rule.results)} each")
    found = []
    for number, own in enumerate(rule.results):
        each = [results[number] for results in made]
        if factor in own:
            dim = own.index(factor)
            if kind.word == "window":
                before = (slice(None),) * dim
                each = [one[(*before, slice(part.first, part.last))] for one, part in zip(each, parts, strict=True)]
            found.append(np.concatenate(each, dim))
        elif kind.word in _BY:
            found.append(_folded(kind, each))
        elif kind.word == "again" and again is not None:
            found.append(_again(rule, factor, each, again)[number])
        else:
            raise ValueError(f"nothing says how results of parts of {factor!r} are put together")
    return found


def _folded(kind: Kind, each: Arrays) -> np.ndarray[Any, Any]:
    if len({one.shape for one in each}) > 1:
        raise ValueError(f"results of parts have the shapes {[one.shape for one in each]}")
    found = reduce(_BY[kind.word], each)
    return np.asarray(found).astype(each[0].dtype)


def _again(rule: DimensionRule, factor: str, each: Arrays, again: Callable[[Any], Arrays]) -> Arrays:
    """Return the operator's results for results of parts, beside each other where the operand was cut."""
    own = next(own for own in rule.operands if factor in own)
    reduced = tuple([dim for dim, name in enumerate(own) if rule.kind(name).word == "again" or name not in _kept(rule)])
    if each[0].ndim < len(own):
        each = [np.expand_dims(one, reduced) for one in each]
    return again(np.concatenate(each, own.index(factor)))


def _kept(rule: DimensionRule) -> set[str]:
    return {name for own in rule.results for name in own}
