"""References: functions that say what the values of an operator mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate.cases import Array, Case

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_gate.subjects import Subject

__all__ = [
    "Derivatives", "Look", "Reference", "arrays_in", "declared_in_python", "given_by_reference", "of_tensors",
    "reference", "refusal_of_reference",
]  # fmt: skip

Look = tuple[tuple[int, ...], tuple[int, ...], Any]  # shape, strides in elements, dtype


class Derivatives(Protocol):
    """Gradients and tangents of a reference, as NumPy arrays, None where there is none. Arguments are Tensors."""

    def gradients(self, values: Sequence[Any], places: Sequence[int], weights: dict[int, Any]) -> list[Any]:
        """Return the gradients of the arguments at `places`, for gradients of results by their numbers."""

    def tangents(self, values: Sequence[Any], directions: dict[int, Any]) -> list[Any]:
        """Return the tangents of results, for those of arguments by their positions."""


@dataclass(frozen=True)
class Reference:
    """A function of all arguments, in order, on NumPy arrays, and what it is called.

    One that `is_widened` gets int64 for integers. PyTorch's operators also have a `declaration`, say what results look
    like (`looks`, of Tensors), and have `derivatives`.
    """

    function: Callable[..., Any]
    said: str = "the reference"
    is_widened: bool = True
    declaration: Operator | None = None
    looks: Callable[..., list[Look]] | None = None
    derivatives: Derivatives | None = None

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)


_REFERENCES: Final[dict[str, Reference]] = {}


def reference(name: str, function: Callable[..., Any] | None = None) -> Any:
    """Say what an operator computes: a function of its arguments, in order, that is given and returns NumPy arrays.

    `name` is qualified, `"mylib::scale"`. Floating-point arguments come in float64 (complex ones in complex128), so
    that the function can be the plain formula. Without `function` it is a decorator. What an operator writes to, the
    function returns: after the results, in the order of the arguments, unless they are results.
    """
    if function is None:
        return lambda given: reference(name, given)
    made = function if isinstance(function, Reference) else Reference(function)
    _REFERENCES[name.removesuffix(".default")] = made
    return function


def declared_in_python(name: str) -> Reference | None:
    """Return what `reference` was told of an operator, None where nothing was."""
    return _REFERENCES.get(name)


def given_by_reference(subject: Subject, case: Case) -> Any:
    """Return what the reference gives for a call, in wide dtypes, or the error that it raises."""
    known = subject.reference
    assert known is not None
    values = [_wide(value, known.is_widened) for value in case.values]
    try:
        with np.errstate(all="ignore"):
            return known(*values)
    except Exception as error:
        return error


def refusal_of_reference(subject: Subject, case: Case) -> Exception | None:
    """Return what the reference raises for a call, None where it takes it."""
    found = given_by_reference(subject, case)
    return found if isinstance(found, Exception) else None


def of_tensors(function: Callable[..., Any], written: Sequence[int] = ()) -> Callable[..., list[Any]]:
    """Return a function of Tensors as one of arrays, which returns its results and then what is `written`."""

    def values(*args: Any) -> list[Any]:
        given = [_tensors(each) for each in args]
        found = function(*given)
        return [*arrays_in(found), *arrays_in([given[place] for place in written])]

    return values


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of Tensors, in lists too."""
    if isinstance(value, Tensor):
        yield value.numpy(force=True)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)


def _tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return wrap(value)
    return [_tensors(each) for each in value] if isinstance(value, list | tuple) else value


def _wide(value: Any, is_widened: bool) -> Any:
    if isinstance(value, Array):
        array = value.values
        if array.dtype.kind in ("b" if is_widened else "biu"):
            return array.copy()
        kind = np.complex128 if array.dtype.kind == "c" else np.int64 if array.dtype.kind in "iu" else np.float64
        return array.astype(kind)
    if isinstance(value, np.dtype) and not is_widened and value.kind in "fVc":  # what is asked for, computed in
        return np.dtype(np.complex128 if value.kind == "c" else np.float64)
    return [_wide(item, is_widened) for item in value] if isinstance(value, list | tuple) else value
