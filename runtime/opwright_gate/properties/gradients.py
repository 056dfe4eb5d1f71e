"""Gradients: right, to second order, for whatever gradient comes in, and connected."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from opwright.autograd import enable_grad, grad, no_grad
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, float32, float64
from opwright_core.dispatch.registry.kernel_kinds import Fallthrough, LazyWrapper
from opwright_core.keys import DispatchKey
from opwright_core.tensors.tensor import Tensor
from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import shown_error
from opwright_gate.properties.backward_passes import (
    asks_dtype,
    asks_empty,
    asks_incoming,
    asks_none,
    asks_order,
    asks_saved,
)
from opwright_gate.properties.gradient_calls import (
    has_formula,
    incoming_for,
    inputs_of,
    is_few,
    leaves,
    results_of,
    small_calls,
)
from opwright_gate.properties.gradient_programs import connected, first_order
from opwright_gate.properties.property import Problem, Property
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Gradients"]

_KEYS: Final = ("Autograd", "AutogradCPU", "AutogradOther")


class Gradients(Property):
    """Gradients by finite differences, and what a backward pass makes of what it is given."""

    name, title, group = "gradients-are-right", "Gradients are right", "gradients"
    finds = "A gradient that is wrong, unconnected, of another dtype or shape, or wrong for some incoming gradient."
    example = "def backward(ctx, g):\n    return g.numpy().ravel() * 2  # g may lie otherwise"
    mend = "See the program; save what the formula reads by `ctx.save_for_backward`."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a formula, and what it needs."""
        if subject.operator.signature.written:
            return "it writes to its arguments"
        if not any(subject.operator.has_kernel_for_dispatch_key(key) for key in _KEYS):
            return "it has no formula for gradients of its own"
        if "_backward" in subject.name:
            return "it is a backward function, whose arguments follow from each other"
        registered = subject.operator.registrations.get(DispatchKey.Autograd)
        if registered and isinstance(registered[-1].kernel, Fallthrough):
            return "it is not differentiable"
        return True

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each thing that is wrong."""
        case = samples.floats.get(float64)
        if case is None or samples.why_unstable:
            yield self.undecided(subject, samples.why_unstable or "no call in float64 was found", "not-comparable")
            return
        if not has_formula(subject, case):
            yield self.undecided(subject, "it has no formula for gradients", "no-formula")
            return
        seen = set()
        with warnings.catch_warnings(), enable_grad():
            warnings.simplefilter("ignore")
            for small in small_calls(case, samples):
                if any(isinstance(each, np.dtype) and each != float64 for each in small.values):
                    continue  # (a dtype that is asked for is the one to compute in: differences have its precision)
                for question in _QUESTIONS:
                    problem = _asked(question, subject, small)
                    if problem is not None and problem.cause not in seen:
                        seen.add(problem.cause)
                        yield self.broken(subject, small, problem)
                    if "gradient-not-deterministic" in seen:
                        return  # (nothing else can be compared)
            for other, asked in self._others(samples, case):
                problem = _asked(asked, subject, other)
                if problem is not None and problem.cause not in seen:
                    seen.add(problem.cause)
                    yield self.broken(subject, other, problem)

    def _others(self, samples: Samples, case: Case) -> Iterator[tuple[Case, Callable[[Subject, Case], Problem | None]]]:
        if float32 in samples.floats and not _is_generated(samples.subject):
            yield next(small_calls(samples.floats[float32], samples)), asks_dtype
        for size in case.sizes:
            yield case.resized({size: 0}), asks_empty


def _asked(question: Callable[[Subject, Case], Problem | None], subject: Subject, case: Case) -> Problem | None:
    if subject.refusal(case) is not None or not is_few(case):
        return None
    try:
        return question(subject, case)
    except Exception as error:
        if isinstance(error, NotImplementedError) or says_what_is_demanded(error, ()):
            return None
        return Problem("backward-raises", f"the backward pass raises: {shown_error(error)}", first_order)


def _connected(subject: Subject, case: Case) -> Problem | None:
    """Return an input whose gradient is missing, although results change with it."""
    call = leaves(subject, case)
    inputs, results = inputs_of(call), results_of(call)
    if not inputs:
        return None
    if results:
        found = grad(results, inputs, incoming_for(results), allow_unused=True)
        if all(each is not None for each in found) or _is_generated(subject):
            return None  # (a schema file says of each argument whether it has a formula)
    else:
        found = (None,) * len(inputs)
    names = [each.name for each in call.operands if each.tensor.requires_grad]
    before = [np.array(each.detach().numpy(force=True)) for each in (results or _plain(call))]
    for name, each, position in zip(names, found, range(len(inputs)), strict=True):
        if each is None and _moves(subject, case, position, before):
            if not results:
                why = f"its result does not require grad, and changes with {name}"
                return Problem("gradient-unconnected", why, connected)
            return Problem("gradient-unconnected", f"{name} has no gradient, and the result changes with it", connected)
    return None


def _is_generated(subject: Subject) -> bool:
    registered = subject.operator.registrations.get(DispatchKey.Autograd)
    return registered is not None and type(registered[-1].kernel) is LazyWrapper


def _plain(call: checking.Call) -> list[Tensor]:
    kinds = FLOATING | COMPLEX if isinstance(FLOATING, set | frozenset) else {*FLOATING, *COMPLEX}
    return [each.tensor for each in checking.results_of(call.operator, call()) if each.tensor.dtype in kinds]


def _moves(subject: Subject, case: Case, position: int, before: list[np.ndarray[Any, Any]]) -> bool:
    """Whether float results change where one of the float inputs does, smoothly."""
    count = iter(range(len(case.arrays)))

    def convert(value: Array, _: int) -> Array:
        if value.values.dtype.kind not in "fc":
            return value
        return Array(value.values + 1e-3) if next(count) == position else value

    call = case.converted(convert).call(subject.operator)
    with no_grad():
        after = [each.numpy(force=True) for each in _plain(call)]
    if not before or len(after) != len(before):
        return False
    changes = [
        float(np.abs(one - other).max(initial=0))
        for one, other in zip(after, before, strict=True)
        if one.shape == other.shape
    ]
    return any(1e-9 < change < 1 for change in changes)


_QUESTIONS: Final = (_connected, asks_order, asks_incoming, asks_none, asks_saved)
