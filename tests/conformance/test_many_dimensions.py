"""Operators of one or two tensors on as many dimensions as NumPy has: some of its functions take no more than 32."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import sweeps
from declared import operators

import opwright
from opwright_codegen.schema.model import SchemaKind

# NumPy's own functions refuse here: indexing by arrays, random numbers, broadcasting by `np.broadcast`.
NUMPYS_LIMIT = ("argsort", "binomial", "cdist", "mode", "poisson", "sort", "special_zeta")
DEEP = [1] * 39 + [300]


def tensors_of(name: str) -> int:
    """Return how many tensors an operator wants, where it wants nothing else; else 0."""
    schema = operators()[name].schema
    wanted = [argument for argument in schema.arguments if argument.default is None]
    is_fitting = schema.kind is SchemaKind.FUNCTIONAL and all(str(each.type) == "Tensor" for each in wanted)
    return len(wanted) if is_fitting and len(wanted) <= 2 else 0


def answer(name: str, shape: list[int], dtype: Any) -> Any:
    """Return the result, or the error."""
    operator = getattr(opwright.ops.aten, name.partition(".")[0])
    operator = getattr(operator, name.partition(".")[2] or "default")
    given = [opwright.full(shape, value, dtype=dtype) for value in (2, 3)[: tensors_of(name)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return operator(*given)
        except Exception as error:
            return error


@sweeps.over([name for name in operators() if tensors_of(name) and name not in NUMPYS_LIMIT])
@pytest.mark.parametrize("dtype", [opwright.float32, opwright.int64, opwright.bool])
def test_forty_dimensions_are_taken(name: str, dtype: Any) -> None:
    """Other errors are what the operator says of its arguments."""
    found = answer(name, DEEP, dtype)
    assert "32 dimensions" not in str(found) or not isinstance(found, Exception), found
