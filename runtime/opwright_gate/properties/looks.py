"""Results that do not look like those of a reference: of another dtype, or lying otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import shown_error
from opwright_gate.properties.property import Problem
from opwright_gate.references import Reference
from opwright_gate.samples import Samples
from opwright_gate.subjects import Answer, Subject

__all__ = ["is_cancelled", "refusals_that_differ", "shows", "takes_empty", "unlike"]

_MOST: Final = 60  # refused calls that a reference is asked about


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


def refusals_that_differ(subject: Subject, samples: Samples) -> Iterator[tuple[Case, Problem]]:
    """Yield a drawn call that the operator refuses and the reference takes, and one in a dtype that it alone takes."""
    known, signature = subject.reference, subject.operator.signature
    if known is None or known.looks is None or any(place >= signature.positional for place in signature.written):
        return
    for case, error in [*samples.fake_errors, *samples.kernel_errors][:_MOST]:
        if _refusal(subject, known, case) is None:
            why = f"it refuses a call that {known.said} takes: {shown_error(error)}"
            yield case, Problem("refuses-drawn", why)
            break
    answers = [(dtype, case, _refusal(subject, known, case)) for dtype, case in samples.bases.items()]
    if any(error is None for _, _, error in answers):
        for dtype, case, refused in answers:
            if refused is not None:
                why = f"it takes {dtype}, which {known.said} refuses: {shown_error(refused)}"
                yield case, Problem("takes-refused-dtype", why)
                break


def is_cancelled(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any], case: Case) -> bool:
    """Whether two results of large arguments differ by what is left when products of these cancel, in another order."""
    if (
        case.note not in ("large", "offset", "steep", "tiny")
        or found.shape != want.shape
        or found.dtype.kind not in "fcV"
    ):
        return False
    largest = max((float(np.nanmax(np.abs(each.values), initial=0)) for each in case.arrays), default=0.0)
    eps = {2: 1e-2, 4: 1e-6, 8: 1e-15}.get(found.dtype.itemsize // (1 + (found.dtype.kind == "c")), 1e-6)
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(found.astype(wide) - want.astype(wide)) <= eps * largest**2))


def takes_empty(subject: Subject, known: Reference, case: Case) -> Problem | None:
    """Return that a call with a size of 0 is taken, which the reference refuses."""
    error = _refusal(subject, known, case)
    if error is None or subject.refusal(case) is not None:
        return None
    return Problem("takes-empty", f"it takes a size of 0, which {known.said} refuses: {shown_error(error)}")


def _refusal(subject: Subject, known: Reference, case: Case) -> Exception | None:
    try:
        if known.looks is not None:
            known.looks(*case.call(subject.operator).arguments)
    except Exception as error:
        return error
    return None


def _places(shape: tuple[int, ...], strides: Iterable[int]) -> list[int]:
    """Return the strides that say where an element is."""
    return [] if 0 in shape else [stride for size, stride in zip(shape, strides, strict=True) if size > 1]
