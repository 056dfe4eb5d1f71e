"""Backward passes, asked: against finite differences, and for whatever gradient comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opwright.autograd import grad, gradcheck, gradgradcheck, no_grad
from opwright.errors import GradcheckError
from opwright_core.arrays.dtypes import complex128, float64
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Array, Case, lay
from opwright_gate.comparing import close, shown_error
from opwright_gate.properties import gradient_programs as programs
from opwright_gate.properties.gradient_calls import (
    gradients_of,
    incoming_for,
    inputs_of,
    leaves,
    noting_casts,
    results_of,
)
from opwright_gate.properties.property import Problem
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.subjects import Subject

__all__ = ["asks_dtype", "asks_empty", "asks_incoming", "asks_none", "asks_order", "asks_saved"]


def _function(subject: Subject, case: Case) -> tuple[Callable[..., Any], list[Tensor]]:
    """Return a function of the float arguments alone, which gives float results."""
    call = leaves(subject, case)
    inputs = inputs_of(call)

    def function(*given: Tensor) -> Any:
        places = {id(each): new for each, new in zip(inputs, given, strict=True)}
        moved = call.converted(lambda tensor: places.get(id(tensor), tensor))
        results = [each.tensor for each in checking.differentiable(checking.results_of(call.operator, moved()))]
        return results[0] if len(results) == 1 else tuple(results)

    return function, inputs


def asks_order(subject: Subject, case: Case) -> Problem | None:
    """Return what `gradcheck` and `gradgradcheck` say."""
    function, inputs = _function(subject, case)
    results = results_of(leaves(subject, case))
    if not inputs or not results or any(each.dtype not in (float64, complex128) for each in results):
        return None  # (differences of others are of rounding)
    if not _is_smooth(subject, case):
        case = case.converted(_inside)  # of a domain such as that of `log`
        if subject.refusal(case) is not None or not _is_smooth(subject, case):
            return None
        function, inputs = _function(subject, case)
    try:
        gradcheck(function, inputs, check_undefined_grad=False)
    except GradcheckError as error:
        text = str(error).partition("\n")[0]
        cause = "gradient-not-deterministic" if "not deterministic" in text else "wrong-gradient"
        return Problem(cause, text, programs.first_order, case=case)
    except NotImplementedError:
        return None
    except Exception as error:
        if says_what_is_demanded(error, ()):
            return None
        return Problem(
            "backward-raises", f"the backward pass raises: {shown_error(error)}", programs.first_order, case=case
        )
    try:
        gradgradcheck(function, inputs, check_undefined_grad=False)
    except GradcheckError as error:
        return Problem("wrong-second-gradient", str(error).partition("\n")[0], programs.second_order, case=case)
    except Exception:
        return _constant_backward(subject, case)
    return None


def _is_smooth(subject: Subject, case: Case) -> bool:
    """Whether results and gradients are finite here."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    try:
        found = gradients_of(results, inputs, incoming_for(results))
    except Exception:
        return True
    arrays = [*[each.detach().numpy(force=True) for each in results], *[each for each in found if each is not None]]
    return all(bool(np.isfinite(each).all()) for each in arrays)


def _inside(value: Array, _: int) -> Array:
    """Return values between 0.25 and 0.75 instead of others."""
    if value.values.dtype.kind not in "fc":
        return value
    return Array(np.asarray(0.25 + 0.5 * (value.values.real % 1)).astype(value.values.dtype))


def _constant_backward(subject: Subject, case: Case) -> Problem | None:
    """Return that a backward pass cannot be differentiated and does not say so."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    incoming = [each.requires_grad_() for each in incoming_for(results)]
    try:
        found = [
            each for each in grad(results, inputs, incoming, create_graph=True, allow_unused=True) if each is not None
        ]
    except Exception:
        return None
    if found and not any(each.requires_grad for each in found):
        why = "its gradients follow from incoming ones, and are not connected to them"
        return Problem("wrong-second-gradient", why, programs.second_order, case=case)
    return None


def asks_incoming(subject: Subject, case: Case) -> Problem | None:
    """Return how gradients differ where those that come in lie otherwise."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    if not results:
        return None
    given = [each.numpy() for each in incoming_for(results)]
    incoming = [wrap(np.array(each, order="C")) for each in given]
    gradients_of(results, inputs, incoming)
    if any(not np.array_equal(each.numpy(), kept) for each, kept in zip(incoming, given, strict=True)):
        return Problem("gradient-written", "the backward pass writes to the gradient that comes in", programs.written)
    for layout in ("transposed", "sliced", "backwards", "expanded"):
        laid = [lay(Array(each, layout)) for each in given]
        try:
            wanted = gradients_of(results, inputs, [wrap(np.array(each, order="C")) for each in laid])
        except Exception:
            return None
        try:
            found = gradients_of(results, inputs, [wrap(each) for each in laid])
        except Exception as error:
            why = f"the backward pass raises for {layout} gradients: {shown_error(error)}"
            return Problem("gradient-layout", why, programs.laid(layout))
        for one, other in zip(found, wanted, strict=True):
            if one is not None and other is not None and not close(one, other):
                why = f"gradients are others where those that come in are {layout}"
                return Problem("gradient-layout", why, programs.laid(layout))
    return None


def asks_none(subject: Subject, case: Case) -> Problem | None:
    """Return what a backward pass from one of several results raises."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    for number, each in enumerate(results if len(results) > 1 else ()):
        try:
            found = gradients_of([each], inputs, [incoming_for([each])[0]])
            zeros = [wrap(np.zeros_like(one.numpy())) for one in incoming_for(results)]
            zeros[number] = incoming_for([each])[0]
            wanted = gradients_of(results, inputs, zeros)
        except Exception as error:
            if says_what_is_demanded(error, ()):
                continue
            why = f"a backward pass from result {number} alone raises: {shown_error(error)}"
            return Problem("gradient-none", why, programs.alone(number))
        for one, other in zip(found, wanted, strict=True):
            if other is not None and not np.isfinite(other).all():
                continue  # (a gradient of 0 times what is infinite)
            if one is not None and not close(one, np.zeros_like(one) if other is None else other):
                why = f"a backward pass from result {number} alone gives other gradients"
                return Problem("gradient-none", why, programs.alone(number))
    return None


def asks_saved(subject: Subject, case: Case) -> Problem | None:
    """Return that gradients follow from what an argument became after the call, without an error."""
    call = leaves(subject, case)
    inputs = inputs_of(call)
    copies = {id(each): each.clone() for each in inputs}
    moved = call.converted(lambda tensor: copies.get(id(tensor), tensor))
    results = [each.tensor for each in checking.differentiable(checking.results_of(call.operator, moved()))]
    if not results:
        return None
    wanted = gradients_of(results, inputs, incoming_for(results))
    for each in copies.values():
        with no_grad():
            each.mul_(3.0)
    try:
        found = gradients_of(results, inputs, incoming_for(results))
    except Exception:
        return None
    for one, other in zip(found, wanted, strict=True):
        if one is not None and other is not None and not close(one, other):
            why = "gradients are others when an argument is changed after the call, and no error says so"
            return Problem("saved-mutated", why, programs.mutated)
    return None


def asks_dtype(subject: Subject, case: Case) -> Problem | None:
    """Return a gradient of another dtype than its input's: the engine casts it, so that nobody else sees it."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    if not results:
        return None
    with noting_casts() as seen:
        try:
            gradients_of(results, inputs, incoming_for(results))
        except Exception:
            return None
    if not seen:
        return None
    why = f"its backward pass returns {seen[0][0]} for an argument of {seen[0][1]}"
    return Problem("gradient-dtype", why, programs.casts)


def asks_empty(subject: Subject, case: Case) -> Problem | None:
    """Return what a backward pass without elements raises."""
    call = leaves(subject, case)
    results, inputs = results_of(call), inputs_of(call)
    if not results:
        return None
    try:
        found = gradients_of(results, inputs, incoming_for(results))
    except Exception as error:
        if says_what_is_demanded(error, ()):
            return None
        why = f"the backward pass of an empty call raises: {shown_error(error)}"
        return Problem("gradient-empty", why, programs.shapes)
    for one, each in zip(found, inputs, strict=True):
        if one is not None and one.shape != tuple(each.shape):
            return Problem("gradient-empty", f"the gradient of an empty call has shape {one.shape}", programs.shapes)
    return None
