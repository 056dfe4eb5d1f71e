"""Operators with extreme numbers for arguments: sizes that no memory holds, positions far out, numbers of another kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from declared import operators
from sampling import Sample

INTS = (0, -1, 3, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**70)
FLOATS = (0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, 1j, 2**70)
SCALARS = (0, -1, True, 2**63, -(2**63) - 1, 2**70, float("nan"), float("inf"), -1e308, 1j, complex("nan+infj"))


def extremes_of(type_: Any, value: Any) -> Iterator[Any]:
    """What is tried in the place of an argument of this type."""
    text = str(type_).rstrip("?")
    base, bracket, _ = text.partition("[")
    match base:
        case "int" | "SymInt":
            found: tuple[Any, ...] = INTS
        case "float":
            found = FLOATS
        case "Scalar":
            found = SCALARS
        case _:
            return
    if not bracket:
        yield from found
        return
    given = list(value) if isinstance(value, list | tuple) else [value]
    for each in found:
        yield [each, *given[1:]]
        if len(given) > 1:
            yield [*given[:-1], each]
    yield [1] * 65


def variations(name: str, sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample with one argument after the other made extreme."""
    schema = operators()[name].schema
    places = [argument.name for argument in schema.positional]
    for argument in schema.arguments:
        place = places.index(argument.name) if argument.name in places else None
        is_given = place is not None and place < len(sample.args)
        value = sample.args[place] if is_given else sample.kwargs.get(argument.name)  # type: ignore[index]
        if isinstance(value, np.ndarray):
            continue
        for each in extremes_of(argument.type, value):
            if is_given:
                args = (*sample.args[:place], each, *sample.args[place + 1 :])  # type: ignore[operator]
                changed = Sample(args, sample.kwargs)
            else:
                changed = Sample(sample.args, sample.kwargs | {argument.name: each})
            yield f"{argument.name}={each!r}", changed
