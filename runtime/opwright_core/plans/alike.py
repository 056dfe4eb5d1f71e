"""Rules of pointwise operators, marked: where operands are dense and alike, the result looks as they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from opwright_core.arrays.dtypes import DType, plain_dtypes

__all__ = ["Alike", "alike"]

F = TypeVar("F", bound=Callable[..., Any])


class Alike(NamedTuple):
    """The condition under which a result looks as the tensors do, or is bool: these are row-major, of one shape and
    dtype.

    `letters` has one for each argument: a tensor (`T`), an int or a float (`N`), a number that must have its default
    (`1`), whatever it is (`.`).
    """

    letters: str
    dtypes: frozenset[DType]
    is_truth: bool


def alike(letters: str, kinds: str, *, is_truth: bool = False) -> Callable[[F], F]:
    """Mark a function of `metas`: `kinds` are NumPy's letters of dtypes. A result that `is_truth` is bool."""
    facts = Alike(letters, plain_dtypes(kinds), is_truth)

    def mark(function: F) -> F:
        function.alike = facts  # type: ignore[attr-defined]
        return function

    return mark
