"""Calls repaired by what their refusal says: errors that say what would be right say what to draw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opwright_gate.cases import Array, Case, drawn

__all__ = ["repaired"]

# "target has to be of shape (3), but …", "weight must have shape [2, 3]"; "x must have 2 dimensions", "tau must be 1-D"
_DEMANDS: Final = r"\b(?P<name>\w+)(?: of \w+)? (?:must|has to|should) (?:be|have) "
_SHAPE: Final = re.compile(_DEMANDS + r"(?:of )?shape [\[(](?P<sizes>[\d, ]*)[\])]")
_RANK: Final = re.compile(_DEMANDS + r"(?P<rank>\d)[- ]?(?:D\b|dim)")


def repaired(case: Case, error: Exception, names: Sequence[str], seed: int) -> Case | None:
    """Return the call with an argument of the shape, or of so many dimensions, as an error demands; None where it
    demands nothing of the kind, or what the argument has already."""
    text = str(error)
    demand = _SHAPE.search(text) or _RANK.search(text)
    if demand is None or demand["name"] not in names:
        return None
    place = list(names).index(demand["name"])
    value = case.values[place]
    if not isinstance(value, Array):
        return None
    array = value.values
    if demand.re is _SHAPE:
        shape = tuple(int(size) for size in demand["sizes"].split(",") if size.strip())
    else:
        rank = int(demand["rank"])
        shape = (*(2, 3, 4, 5, 6, 7, 8, 9, 10)[: max(rank - array.ndim, 0)], *array.shape)[:rank]
    if shape == array.shape:
        return None
    high = int(array.max(initial=1)) + 1 if array.dtype.kind in "iu" else 4
    return case.with_value(place, drawn(shape, array.dtype, seed + place, high))
