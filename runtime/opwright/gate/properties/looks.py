"""Results that do not look like those of a reference: of another dtype, or lying otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.gate.cases import Case
from opwright.gate.properties.property import Problem
from opwright.gate.references import Reference
from opwright.gate.subjects import Answer
from opwright.testing import checking

__all__ = ["shows", "unlike"]


def shows(known: Reference) -> tuple[str, ...]:
    """Return the lines of a program that show a difference."""
    return (f"print(result)  # not what {known.said} gives",)


def unlike(known: Reference, case: Case, answer: Answer) -> Problem | None:
    """Return in what a result does not look like the reference's, where that says it."""
    if known.looks is None:
        return None
    try:
        wanted = known.looks(*case.call(answer.call.operator).arguments)
    except Exception:  # a dtype that only we take
        return None
    results = checking.results_of(answer.call.operator, answer.result)
    for (name, _, tensor), (shape, strides, dtype) in zip(results, wanted, strict=False):
        if tensor.dtype != dtype:
            return Problem("wrong-dtype", f"{name} is {tensor.dtype}, and {known.said} gives {dtype}", shows(known))
        if tuple(tensor.shape) == shape and _places(shape, tensor.stride()) != _places(shape, strides):
            why = f"{name} has strides {tuple(tensor.stride())}, and {known.said} gives {strides}"
            return Problem("wrong-strides", why, shows(known))
    return None


def _places(shape: tuple[int, ...], strides: Iterable[int]) -> list[int]:
    """Return the strides that say where an element is."""
    return [] if 0 in shape else [stride for size, stride in zip(shape, strides, strict=True) if size > 1]
