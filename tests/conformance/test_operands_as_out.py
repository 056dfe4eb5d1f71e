"""`out=` that is an operand, of every operator: it gets the result where it has its shape, and is never resized."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from declared import functional_of, of_kind, operators
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample

import opwright
from opwright_codegen.schema.model import SchemaKind

MOST = 3  # samples of an operator, of operands of other dtypes each
TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-4, 16: 1e-9}


def with_one_out() -> list[str]:
    """The operators that write one output; not those whose results are random, or left as they were."""
    return [
        name
        for name in of_kind(SchemaKind.OUT)
        if len(operators()[name].schema.out_arguments) == 1
        and "nondeterministic_seeded" not in operators()[name].tags
        and not any(word in name for word in ("rand", "empty"))
    ]


def operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def calls(name: str) -> Iterator[tuple[Sample, np.ndarray]]:
    """Some calls, and their results in memory of their own."""
    functional = functional_of(name)
    found = SAMPLES.get(name) or SAMPLES.get(functional)
    if found is None or name in NO_SAMPLES or functional in NO_SAMPLES:
        return
    seen = set()
    for one in found():
        dtypes = tuple(str(each.dtype) for _, each in operands(one))
        if not dtypes or dtypes in seen:
            continue
        try:
            result = operator(functional)(*converted(one), **one.kwargs)
        except Exception:
            continue  # (refused samples)
        if isinstance(result, opwright.Tensor) and result.numel():
            seen.add(dtypes)
            yield one, result.array.copy()
        if len(seen) == MOST:
            return


def operands(one: Sample) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The arrays among the arguments, also those in lists, and where they are."""
    for place, value in enumerate(one.args):
        if isinstance(value, np.ndarray):
            yield (place,), value
        elif isinstance(value, list):
            yield from (((place, at), each) for at, each in enumerate(value) if isinstance(each, np.ndarray))


def owned(array: np.ndarray) -> opwright.Tensor:
    """A tensor of these elements in memory that may be resized."""
    strides = [step // array.itemsize for step in array.strides]
    return opwright.empty_strided(array.shape, strides, dtype=array.dtype).copy_(opwright.from_numpy(array.copy()))


def converted(one: Sample) -> list[Any]:
    return [
        [owned(each) if isinstance(each, np.ndarray) else each for each in value]
        if isinstance(value, list)
        else owned(value)
        if isinstance(value, np.ndarray)
        else value
        for value in one.args
    ]


def problems(name: str) -> Iterator[str]:
    out = operators()[name].schema.out_arguments[0].name
    for one, result in calls(name):
        for place, array in operands(one):
            args = converted(one)
            given = args[place[0]] if len(place) == 1 else args[place[0]][place[1]]
            before, case = given.array.copy(), f"{name}{one}, argument {place}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    operator(name)(*args, **one.kwargs, **{out: given})
                except Exception as error:
                    if not np.array_equal(given.array, before, equal_nan=before.dtype.kind in "fc"):
                        yield f"{case}: changed before {error!r}"
                    continue
            if given.array.shape != array.shape:
                yield f"{case}: resized from {array.shape} to {given.array.shape}"
            elif not is_close(given.array, result.astype(given.array.dtype)):
                yield f"{case}: {given.array.tolist()!r:.200}, not {result.tolist()!r:.200}"


def is_close(found: np.ndarray, wanted: np.ndarray) -> bool:
    bound = 0 if wanted.dtype.kind in "biu" else TOLERANCE[wanted.dtype.itemsize]
    with np.errstate(all="ignore"):
        a, b = found.astype(np.complex128), wanted.astype(np.complex128)
        return bool(np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True))


@pytest.mark.calls
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", with_one_out())
def test_an_operand_as_out(name: str) -> None:
    wrong = list(problems(name))
    assert not wrong, "\n".join(wrong[:5])
