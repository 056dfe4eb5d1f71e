"""Derivatives along a direction: tangents, gradients and differences of values say one thing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from opwright.autograd import enable_grad, grad, no_grad
from opwright.func import jvp
from opwright.gate.cases import Array, Case
from opwright.gate.comparing import shown_error
from opwright.gate.properties.gradients import has_formula
from opwright.gate.properties.property import Problem, Property
from opwright.gate.refusing import says_what_is_demanded
from opwright.gate.samples import Samples
from opwright.gate.subjects import Subject
from opwright.gate.verdicts import Verdict
from opwright.testing.checking.calls import Call, results_of
from opwright_core.arrays.dtypes import complex128, float64
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["Derivatives"]

_KEYS: Final = ("Autograd", "AutogradCPU", "AutogradOther")
_STEPS: Final = (1e-4, 5e-5)  # their differences are of one value where a function is smooth
_NEAR: Final = 1e-4
_MOST: Final = 2000  # elements


class _Arrays(NamedTuple):
    """The arrays of a call that derivatives are about, and the direction for each."""

    places: tuple[int, ...]
    values: list[np.ndarray[Any, Any]]
    direction: list[np.ndarray[Any, Any]]


class Derivatives(Property):
    """Tangents beside differences of values, and gradients beside both, also for complex numbers."""

    name, title, group = "derivatives-agree", "Gradients, tangents and differences agree", "gradients"
    finds = "A wrong tangent, and a wrong gradient: of complex numbers, or where values are positive or small."
    example = "result: self_t - other_t  # of self + other"
    mend = "See the program; a gradient is that of PyTorch: of a complex argument, the conjugate one."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a formula, and what it needs."""
        if subject.origin != "opwright":
            return "gradients of PyTorch's operators are `torch.autograd.gradcheck`'s to say"
        if subject.operator.signature.written or subject.draws_random_numbers:
            return False
        return any(subject.operator.has_kernel_for_dispatch_key(key) for key in _KEYS)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each cause; nothing where no call is smooth."""
        seen = set()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for case in self._cases(subject, samples):
                for problem in _problems(subject, case):
                    if problem.cause not in seen:
                        seen.add(problem.cause)
                        yield self.broken(subject, case, problem)

    def _cases(self, subject: Subject, samples: Samples) -> Iterator[Case]:
        """Yield calls of float64 and complex128: as drawn, small, and positive."""
        if samples.why_unstable:
            return
        for dtype in (float64, complex128):
            base = samples.bases.get(dtype)
            if base is None or not has_formula(subject, base):
                continue
            if dtype is float64:
                yield from samples.more
            small = base.resized(dict(zip(base.sizes, (2, 3, 4), strict=False)))
            for case in [base, small] if subject.refusal(small) is None else [base]:
                yield case
                yield case.converted(lambda a, place: _moved(samples, a, place, lambda v: v / 5), "small")
                yield case.converted(lambda a, place: _moved(samples, a, place, lambda v: np.abs(v) + 1.1), "positive")


def _moved(samples: Samples, value: Array, place: int, move: Callable[[Any], Any]) -> Array:
    array = value.values
    if array.dtype.kind not in "fc" or samples.is_position(place):
        return value
    return Array(move(array).astype(array.dtype))


def _problems(subject: Subject, case: Case) -> Iterator[Problem]:
    given = _chosen(case)
    if not given.places or sum(each.size for each in given.values) > _MOST or subject.refusal(case) is not None:
        return
    differences = _differences(subject, case, given)
    if differences is None:
        return
    tangents, why = _tangents(subject, case, given)
    if why:
        yield Problem("tangent-raises", why, ("# opwright.func.jvp of this call raises",))
    if tangents is not None:
        for number, (found, want) in enumerate(zip(tangents, differences, strict=False)):
            text = _wrong(found, want)
            if text is not None:
                said = f"the tangent of result {number} is {text} along a direction, as values change"
                yield Problem("wrong-tangent", said, ("# opwright.func.jvp of this call says otherwise",))
                return
    yield from _wrong_gradient(subject, case, given, differences)


def _chosen(case: Case) -> _Arrays:
    random = np.random.default_rng(3)
    places, values, direction = [], [], []
    for number, each in enumerate(case.arrays):
        if each.values.dtype in (np.float64, np.complex128):
            places.append(number)
            values.append(each.values)
            along = random.uniform(0.5, 1.0, each.values.shape) * random.choice([-1.0, 1.0], each.values.shape)
            if each.values.dtype.kind == "c":
                along = along + 1j * random.uniform(0.3, 0.9, each.values.shape)
            direction.append(np.asarray(along, each.values.dtype))
    return _Arrays(tuple(places), values, direction)


def _call(subject: Subject, case: Case, places: tuple[int, ...], given: Iterable[Tensor]) -> Call:
    """Return the call with Tensors in place of some of its arrays."""
    new = dict(zip(places, given, strict=True))
    count = iter(range(len(case.arrays)))

    def put(tensor: Tensor) -> Tensor:
        number = next(count)
        return new.get(number, tensor)

    return case.call(subject.operator).converted(put)


def _outputs(call: Call) -> list[Tensor]:
    """Return the results that derivatives are of."""
    found = [each.tensor for each in results_of(call.operator, call())]
    return [each for each in found if each.is_floating_point() or each.is_complex()]


def _differences(subject: Subject, case: Case, given: _Arrays) -> list[np.ndarray[Any, Any]] | None:
    """Return how results change along the direction, NaN where two steps do not say the same; None where no element
    is left or a call is refused."""
    slopes = []
    try:
        with no_grad():
            for step in _STEPS:
                ends = []
                for sign in (1, -1):
                    moved = [wrap(v + sign * step * d) for v, d in zip(given.values, given.direction, strict=True)]
                    ends.append(
                        [each.numpy(force=True) for each in _outputs(_call(subject, case, given.places, moved))]
                    )
                slopes.append([(one - other) / (2 * step) for one, other in zip(*ends, strict=True)])
    except Exception:
        return None
    found = []
    for one, other in zip(*slopes, strict=True):
        is_smooth = np.isfinite(one) & (np.abs(one - other) <= 1e-6 * (np.abs(other) + 1.0))
        found.append(np.where(is_smooth, other, np.nan))
    return found if any(np.isfinite(each).any() for each in found) else None


def _tangents(subject: Subject, case: Case, given: _Arrays) -> tuple[list[np.ndarray[Any, Any]] | None, str]:
    """Return the tangents of results, None where there is no formula, and what else was raised."""

    def call(*inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(_outputs(_call(subject, case, given.places, inputs)))

    try:
        _, found = jvp(call, tuple(map(wrap, map(np.array, given.values))), tuple(map(wrap, given.direction)))
    except NotImplementedError:
        return None, ""
    except Exception as error:
        text = str(error)
        if says_what_is_demanded(error, subject.operator.signature.names) or "forward" in text or "jvp" in text:
            return None, ""
        return None, f"a tangent raises: {shown_error(error)}"
    return [each.numpy(force=True) for each in found], ""


def _wrong_gradient(
    subject: Subject, case: Case, given: _Arrays, differences: list[np.ndarray[Any, Any]]
) -> Iterator[Problem]:
    """Yield that the gradients of a weighted sum of results do not say how it changes along the direction."""
    lines = ("# opwright.autograd.grad of this call, summed, says otherwise",)
    if not all(np.isfinite(each).all() for each in differences):
        return
    random = np.random.default_rng(4)
    weights = [random.uniform(0.5, 1.5, each.shape).astype(each.dtype) for each in differences]
    try:
        with enable_grad():
            inputs = [wrap(np.array(each)).requires_grad_() for each in given.values]
            results = _outputs(_call(subject, case, given.places, inputs))
            kept = [(each, wrap(weight)) for each, weight in zip(results, weights, strict=True) if each.requires_grad]
            if len(kept) != len(results):
                return
            found = grad([each for each, _ in kept], inputs, [weight for _, weight in kept], allow_unused=True)
    except NotImplementedError:
        return
    except Exception as error:
        if not says_what_is_demanded(error, subject.operator.signature.names):
            yield Problem("backward-raises", f"the backward pass raises: {shown_error(error)}", lines)
        return
    terms = [np.vdot(w, d) for w, d in zip(weights, differences, strict=True)]
    gradients = [
        (each.numpy(force=True), along) for each, along in zip(found, given.direction, strict=True) if each is not None
    ]
    sums = [np.vdot(each, along) for each, along in gradients]
    want, have = sum(np.real(terms)), sum(np.real(sums))
    size = 1.0 + sum(float(np.abs(w * d).sum()) for w, d in zip(weights, differences, strict=True))
    if not np.isfinite(have) or abs(want - have) > _NEAR * size:
        kind = "complex " if any(each.dtype.kind == "c" for each in given.values) else ""
        why = f"along a {kind}direction the gradients say {have:.6g}, and the values {want:.6g}"
        yield Problem("wrong-gradient", why, lines)


def _wrong(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> str | None:
    """Return how a tangent differs from how values change, where that is known."""
    if found.shape != want.shape:
        return f"of shape {found.shape}, not {want.shape}"
    is_wrong = np.isfinite(want) & ~(np.abs(found - want) <= _NEAR * (1.0 + np.abs(want)))
    if not is_wrong.any():
        return None
    index = tuple(int(each[0]) for each in np.nonzero(is_wrong)) if is_wrong.ndim else ()
    return f"{found[index]:.6g} at {list(index)}, and not {want[index]:.6g}"
