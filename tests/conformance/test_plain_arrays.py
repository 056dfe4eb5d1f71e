"""Every operator on plain arrays, and on arrays beside Tensors: the values, dtypes and errors are those of Tensors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of, operators
from faking import operator, with_own_memory
from samples import sampled, samples_of
from sampling import Sample

import opwright
from opwright import Tensor
from opwright_codegen.schema.model import SchemaKind

pytestmark = pytest.mark.filterwarnings("ignore")

# How many samples of an operator are tried; 0 for all of them.
MOST = int(os.environ.get("OPWRIGHT_PLAIN_ARRAYS", "4"))
UNINITIALISED = ("empty", "resize", "new_empty")
# An array whose shape would change is refused, where a Tensor's storage goes on with another shape.
REFUSED_FOR_ARRAYS = ("plain array",)

Convert = Callable[[np.ndarray[Any, Any]], Any]


def some_samples_of(name: str) -> list[Sample]:
    every = samples_of(name)
    return sweeps.spread(every, MOST) if MOST else every


def converted(value: Any, converts: Iterator[Convert]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(converted(each, converts) for each in value)
    return next(converts)(with_own_memory(value)) if isinstance(value, np.ndarray) else value


def cycled(*converts: Convert) -> Iterator[Convert]:
    while True:
        yield from converts


def plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array


def call(name: str, one: Sample, converts: Iterator[Convert]) -> tuple[Any, list[Any]]:
    """What the operator returns or raises, and its arguments."""
    opwright.manual_seed(7)
    args = [converted(value, converts) for value in one.args]
    kwargs = {key: converted(value, converts) for key, value in one.kwargs.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operator(name)(*args, **kwargs), [*args, *kwargs.values()]
    except Exception as error:
        return error, [*args, *kwargs.values()]


def difference(found: Any, wanted: Any, values: bool) -> str | None:
    """How what a call with arrays gave differs from what the call with Tensors gave."""
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        if any(text in str(found) for text in REFUSED_FOR_ARRAYS):
            return None
        return None if type(found) is type(wanted) else f"{found!r:.300}, not {wanted!r:.300}"
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return f"{found!r}, not {len(wanted)} values"
        return next(filter(None, (difference(*pair, values) for pair in zip(found, wanted, strict=True))), None)
    if not isinstance(wanted, Tensor):
        return None if found == wanted or (found != found and wanted != wanted) else f"{found!r}, not {wanted!r}"
    one, other = (each.array if isinstance(each, Tensor) else each for each in (found, wanted))
    if not isinstance(one, np.ndarray):
        return f"{type(one).__name__} where an array is expected"
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return f"{one.dtype}{one.shape}, not {other.dtype}{other.shape}"
    if values and not np.array_equal(one, other, equal_nan=one.dtype.kind in "fcV"):
        return f"values {one.tolist()!r:.300}, not {other.tolist()!r:.300}"
    return None


def kinds(result: Any) -> set[bool]:
    """Whether the arrays of a result are Tensors."""
    if isinstance(result, list | tuple):
        return set().union(*map(kinds, result))
    return {isinstance(result, Tensor)} if isinstance(result, Tensor | np.ndarray) else set()


def check(name: str, calls: Iterator[Sample]) -> None:
    """Fail where calls with arrays, and with arrays and Tensors by turns, give something else than with Tensors."""
    values = not name.startswith(UNINITIALISED)
    found = []
    for one in calls:
        wanted, wanted_arguments = call(name, one, cycled(opwright.from_numpy))
        for converts in (cycled(plain), cycled(plain, opwright.from_numpy), cycled(opwright.from_numpy, plain)):
            result, arguments = call(name, one, converts)
            problem = difference(result, wanted, values)
            if problem is None and not isinstance(result, Exception):
                problem = difference(arguments, wanted_arguments, values)
                if problem is None and len(kinds(arguments)) == 1 and kinds(result) - kinds(arguments):
                    problem = f"the kinds of the results are not those of the arguments: {kinds(result)}"
            if problem is not None:
                found.append(f"{name}{one}: {problem}")
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:8]), pytrace=False)


@sweeps.over(sampled(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE, SchemaKind.MUTABLE))
@pytest.mark.calls
def test_arrays_are_tensors(name: str) -> None:
    check(name, iter(some_samples_of(name)))


@sweeps.over(sampled(SchemaKind.OUT))
@pytest.mark.calls
def test_out(name: str) -> None:
    written = [argument.name for argument in operators()[name].schema.out_arguments]

    def with_out() -> Iterator[Sample]:
        for one in some_samples_of(name):
            result, _ = call(functional_of(name), one, cycled(opwright.from_numpy))
            results = list(result) if isinstance(result, tuple) else [result]
            if all(isinstance(each, Tensor) for each in results):
                outs = {key: np.zeros(each.shape, each.dtype) for key, each in zip(written, results, strict=False)}
                yield Sample(one.args, {**one.kwargs, **outs})

    check(name, with_out())
