"""Ints that 64 bits do not hold are refused before a kernel sees them: some kernels count to the number they get."""

from __future__ import annotations

import pytest
import sweeps
from declared import of_kind, operators
from samples import SAMPLES

import opwright
from opwright_codegen.schema.model import SchemaKind

# Of dimensions, the rules say how many there are.
DIMENSIONS = frozenset(
    ("dim", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source", "destination")
)
PLACES = [
    (name, argument.name)
    for name in of_kind(SchemaKind.FUNCTIONAL)
    if SAMPLES.get(name) and name != "random.from"  # its samples leave out what has no default
    for argument in operators()[name].schema.arguments
    if str(argument.type) in ("int", "int?") and argument.name not in DIMENSIONS
]


@sweeps.over(PLACES)
@pytest.mark.parametrize("number", [2**63, -(2**70)])
def test_they_are_refused(name: str, argument: str, number: int) -> None:
    sample = next(iter(SAMPLES[name]()))
    base, _, overload = name.partition(".")
    operator = getattr(getattr(opwright.ops.aten, base), overload or "default")
    arguments = operator._schema.arguments
    given = dict(zip([a.name for a in arguments], sample.args, strict=False)) | sample.kwargs
    values = [number if a.name == argument else given.get(a.name, a.default_value) for a in arguments]
    kwarg_only = sum(a.kwarg_only for a in arguments)
    positional = len(values) - kwarg_only
    names = [a.name for a in arguments[positional:]]
    with pytest.raises(opwright.errors.ArgumentError, match="it does not fit 64 bits"):
        operator(*values[:positional], **dict(zip(names, values[positional:], strict=True)))
