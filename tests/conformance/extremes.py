"""Operators with extreme numbers in the place of the arguments of their samples: sizes that nothing holds, positions
far out, numbers of another kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from declared import operators
from sampling import Sample

# Sizes between, such as 2**31, some machines have the memory for.
INTS = (-1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**70)
FLOATS = (-1.0, float("nan"), float("inf"), -float("inf"), 1e308, 2**70)
SCALARS = (-1, True, 2**63, 2**70, float("nan"), float("inf"), -1e308, 1j, complex("nan+infj"))


def variations(name: str, sample: Sample) -> Iterator[Sample]:
    """The sample with one argument after the other made extreme."""
    schema = operators()[name].schema
    places = [argument.name for argument in schema.positional]
    for argument in schema.arguments:
        place = places.index(argument.name) if argument.name in places else len(sample.args)
        is_given = place < len(sample.args)
        value = sample.args[place] if is_given else sample.kwargs.get(argument.name)
        for each in () if isinstance(value, np.ndarray) else extremes_of(argument.type, value):
            if is_given:
                yield Sample((*sample.args[:place], each, *sample.args[place + 1 :]), sample.kwargs)
            else:
                yield Sample(sample.args, sample.kwargs | {argument.name: each})


def extremes_of(type_: Any, value: Any) -> Iterator[Any]:
    """What is tried in the place of an argument of this type."""
    base, bracket, _ = str(type_).rstrip("?").partition("[")
    known = {"int": INTS, "SymInt": INTS, "float": FLOATS, "Scalar": SCALARS}
    if not bracket:
        yield from known.get(base, ())
        return
    given = list(value) if isinstance(value, list | tuple) else [value]
    for each in known.get(base, ()):
        yield [each, *given[1:]]
    if base in known:
        yield [1] * 65
