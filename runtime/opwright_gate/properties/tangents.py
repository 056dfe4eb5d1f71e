"""Derivatives along a direction: tangents, gradients and differences of values say one thing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from opwright.autograd import enable_grad, grad, no_grad
from opwright.func import jvp
from opwright.metadata.tags import Tag
from opwright_core.arrays.dtypes import complex128, float64
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.comparing import shown_error
from opwright_gate.properties import gradient_programs as programs
from opwright_gate.properties.gradient_calls import has_formula
from opwright_gate.properties.property import Problem, Property
from opwright_gate.refusing import says_what_is_demanded
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import variations
from opwright_gate.verdicts import Verdict

__all__ = ["Derivatives"]

_KEYS: Final = ("Autograd", "AutogradCPU", "AutogradOther")
_STEPS: Final = (1e-4, 5e-5)  # their differences are of one value where a function is smooth
_NEAR: Final = 1e-4
_MOST: Final = 2000  # elements
_DTYPES: Final = (np.dtype(np.float64), np.dtype(np.complex128))


class Derivatives(Property):
    """Tangents beside differences of values, and gradients beside both, also for complex numbers."""

    name, title, group = "derivatives-agree", "Gradients, tangents and differences agree", "gradients"
    finds = "A wrong tangent, and a wrong gradient: of complex numbers, or where values are positive or small."
    example = "def jvp(ctx, x_t, y_t):\n    return x_t - y_t  # of x + y"
    mend = "See the program; a gradient is that of PyTorch: of a complex argument, the conjugate one."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a formula, and what it needs."""
        if subject.origin != "opwright":
            return "gradients of PyTorch's operators are `torch.autograd.gradcheck`'s to say"
        if subject.operator.signature.written:
            return False
        return any(subject.operator.has_kernel_for_dispatch_key(key) for key in _KEYS)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each cause; nothing where no call is smooth."""
        seen = set()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for case, problem in self._problems(subject, samples):
                if problem.cause not in seen:
                    seen.add(problem.cause)
                    yield self.broken(subject, case, problem)

    def _problems(self, subject: Subject, samples: Samples) -> Iterator[tuple[Case, Problem]]:
        """Yield what is wrong. Of tangents, gradients and values one has to differ from the two others: gradients at
        repeated positions and of vectors up to a sign are not those of values by their nature."""
        are_usual = True  # gradients, in the call that others are variations of
        for case in self._cases(subject, samples):
            asked = _Asked.of(subject, case)
            if asked is None:
                continue
            of_gradients, agree = asked.gradient_problem()
            of_tangents = asked.tangent_problem()
            if of_tangents is not None and agree is not False:
                yield case, of_tangents
            if not samples.why_unstable and not case.note and asked.values[0].dtype.kind == "f":
                are_usual = agree is not False
            elif of_gradients is not None and of_tangents is None and are_usual:
                yield case, of_gradients

    def _cases(self, subject: Subject, samples: Samples) -> Iterator[Case]:
        """Yield calls of float64 and complex128: as drawn, small, and positive."""
        has_positions = samples.why_unstable.startswith("positions")
        if samples.why_unstable and not subject.draws_random_numbers and not has_positions:
            return
        for dtype in (float64, complex128):
            base = samples.bases.get(dtype)
            if base is None or not has_formula(subject, base):
                continue
            if has_positions:  # that are drawn twice: one alone is not
                cases = [base, *variations(subject.operator, base)]
                yield from filter(_has_one_position, (_with_one_position(samples, each) for each in cases))
                continue
            small = base.resized(dict(zip(base.sizes, (2, 3, 4), strict=False)))
            for case in [base, small] if subject.refusal(small) is None else [base]:
                yield case
                yield case.converted(lambda a, place: _moved(samples, a, place, lambda v: v / 5), "small")
                yield case.converted(lambda a, place: _moved(samples, a, place, lambda v: np.abs(v) + 1.1), "positive")
            if dtype is float64:
                yield from samples.more
                if subject.draws_random_numbers:
                    yield from variations(subject.operator, base)


def _with_one_position(samples: Samples, case: Case) -> Case:
    """Return the call with one position, and one value where there are as many as positions."""
    places = [place for place, value in enumerate(case.values) if isinstance(value, Array) and _is_whole(value)]
    shapes = {case.values[place].values.shape for place in places if samples.is_position(place)}

    def convert(value: Array, place: int) -> Array:
        is_first = place == samples.subject.operator.signature.tensors[0].position
        if is_first or value.values.shape not in shapes:
            return value
        return Array(value.values[(slice(0, 1),) * value.values.ndim].copy())

    return case.converted(convert)


def _has_one_position(case: Case) -> bool:
    return all(each.values.size <= 1 for each in case.arrays if _is_whole(each))


def _is_whole(value: Array) -> bool:
    return value.values.dtype.kind in "iu"


def _moved(samples: Samples, value: Array, place: int, move: Callable[[Any], Any]) -> Array:
    array = value.values
    if array.dtype.kind not in "fc" or samples.is_position(place):
        return value
    return Array(move(array).astype(array.dtype))


class _Asked:
    """A call with those of its arrays that have gradients, a direction for each, and the results that have history."""

    def __init__(self, subject: Subject, case: Case, places: list[int], results: list[int]) -> None:
        random = np.random.default_rng(3)
        self.subject, self.case, self.places, self.results = subject, case, places, results
        arrays = case.arrays
        self.values = [arrays[place].values for place in places]
        self.direction = [_numbers(random, each) for each in self.values]
        self.differences = self._differences()

    @classmethod
    def of(cls, subject: Subject, case: Case) -> _Asked | None:
        """Return what can be asked of a call; None where it is refused, large, not differentiable or nowhere smooth."""
        arrays = case.arrays
        if sum(each.values.size for each in arrays) > _MOST or subject.refusal(case) is not None:
            return None
        floats = [number for number, each in enumerate(arrays) if each.values.dtype in _DTYPES]
        places = [place for place in floats if _has_gradient(subject, case, place)]
        if not places:
            return None
        try:
            found = _outputs(_call(subject, case, places, [_leaf(arrays[place].values) for place in places]))
        except Exception:
            return None
        results = [
            number for number, each in enumerate(found) if each.requires_grad and each.dtype in (float64, complex128)
        ]
        if len(results) > 1 and any(arrays[place].values.dtype.kind == "c" for place in places):
            return None  # some are known up to a phase: vectors, factors
        asked = cls(subject, case, places, results)
        return asked if any(np.isfinite(each).any() for each in asked.differences) else None

    def tangent_problem(self) -> Problem | None:
        """Return the tangent that is neither what differences of values say nor what gradients do."""
        tangents, why = self._tangents()
        if tangents is None:
            if not why or not self._are_smooth():
                return None
            return Problem("tangent-raises", why, programs.tangents)
        for number, found, want in zip(self.results, tangents, self.differences, strict=True):
            text = _wrong(found, want)
            if text is not None and not self._agree(number, found):
                said = f"the tangent of result {number} is {text} along a direction, as values change"
                return Problem("wrong-tangent", said, programs.tangents)
        return None

    def gradient_problem(self) -> tuple[Problem | None, bool | None]:
        """Return the problem of gradients of a weighted sum of results, and whether they say how it changes along the
        direction, None where that cannot be told."""
        is_complex = any(each.dtype.kind == "c" for each in self.values)
        if not self._are_smooth() or (is_complex and self._has_positions()):  # which may repeat
            return None, None
        random = np.random.default_rng(4)
        weights = [_numbers(random, each) for each in self.differences]
        try:
            have = self._along_gradients(dict(zip(self.results, weights, strict=True)))
        except NotImplementedError:
            return None, None
        except Exception as error:
            if says_what_is_demanded(error, self.subject.operator.signature.names):
                return None, None
            said = f"the backward pass raises: {shown_error(error)}"
            return Problem("backward-raises", said, programs.first_order), None
        if have == 0 and self.subject.draws_random_numbers:
            return None, None  # what is drawn has no gradient, by convention
        terms = [w.conj() * d for w, d in zip(weights, self.differences, strict=True)]
        want, size = _real_sum(terms), 1.0 + sum(float(np.abs(each).sum()) for each in terms)
        if np.isfinite(have) and abs(want - have) <= _NEAR * size:
            return None, True
        kind = "complex " if is_complex else ""
        why = f"along a {kind}direction the gradients say {have:.6g}, and the values {want:.6g}"
        return Problem("wrong-gradient", why, programs.first_order), False

    def _has_positions(self) -> bool:
        return any(each.values.dtype.kind in "iu" for each in self.case.arrays)

    def _are_smooth(self) -> bool:
        return all(np.isfinite(each).all() for each in self.differences)

    def _moved(self, step: float) -> list[np.ndarray[Any, Any]]:
        given = [wrap(value + step * along) for value, along in zip(self.values, self.direction, strict=True)]
        found = _outputs(_call(self.subject, self.case, self.places, given))
        return [found[number].numpy(force=True) for number in self.results]

    def _differences(self) -> list[np.ndarray[Any, Any]]:
        """Return how results change along the direction, NaN where two steps do not say the same."""
        try:
            with no_grad():
                ends = [zip(self._moved(step), self._moved(-step), strict=True) for step in _STEPS]
                slopes = [
                    [(one - other) / (2 * step) for one, other in pairs]
                    for step, pairs in zip(_STEPS, ends, strict=True)
                ]
        except Exception:
            return []
        found = []
        for one, other in zip(*slopes, strict=True):
            is_smooth = np.isfinite(one) & (np.abs(one - other) <= 1e-6 * (np.abs(other) + 1.0))
            found.append(np.where(is_smooth, other, np.nan))
        return found

    def _tangents(self) -> tuple[list[np.ndarray[Any, Any]] | None, str]:
        """Return the tangents of results, None where there is no formula, and what else was raised."""

        def call(*inputs: Tensor) -> tuple[Tensor, ...]:
            found = _outputs(_call(self.subject, self.case, self.places, inputs))
            return tuple(found[number] for number in self.results)

        try:
            inputs = tuple(wrap(np.array(each)) for each in self.values)
            _, found = jvp(call, inputs, tuple(map(wrap, self.direction)))
        except NotImplementedError:
            return None, ""
        except Exception as error:
            text = str(error)
            if says_what_is_demanded(error, self.subject.operator.signature.names) or "jvp" in text:
                return None, ""
            return None, f"a tangent raises: {shown_error(error)}"
        return [each.numpy(force=True) for each in found], ""

    def _agree(self, number: int, tangent: np.ndarray[Any, Any]) -> bool:
        """Whether the gradients of a result say what its tangent does: then both are what they are meant to be, as
        those of symmetric matrices and of rounding are."""
        weights = _numbers(np.random.default_rng(5), tangent)
        try:
            have = self._along_gradients({number: weights})
        except Exception:
            return False
        terms = weights.conj() * tangent
        return bool(abs(_real_sum([terms]) - have) <= _NEAR * (1.0 + float(np.abs(terms).sum())))

    def _along_gradients(self, weights: dict[int, np.ndarray[Any, Any]]) -> float:
        """Return how the weighted sum of results changes along the direction, as gradients say."""
        with enable_grad():
            inputs = [_leaf(each) for each in self.values]
            found = _outputs(_call(self.subject, self.case, self.places, inputs))
            results = [found[number] for number in weights]
            gradients = grad(results, inputs, [wrap(each) for each in weights.values()], allow_unused=True)
        return _real_sum(
            each.numpy(force=True).conj() * along
            for each, along in zip(gradients, self.direction, strict=True)
            if each is not None
        )


def _numbers(random: np.random.Generator, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers of both signs, none near 0, of an array's shape and dtype."""
    found = random.uniform(0.5, 1.0, like.shape) * random.choice([-1.0, 1.0], like.shape)
    if like.dtype.kind == "c":
        found = found + 1j * random.uniform(0.3, 0.9, like.shape)
    return np.asarray(found, like.dtype)


def _real_sum(terms: Iterable[np.ndarray[Any, Any]]) -> float:
    return float(sum(np.real(np.sum(each)) for each in terms))


def _leaf(values: np.ndarray[Any, Any]) -> Tensor:
    return wrap(np.array(values)).requires_grad_()


def _has_gradient(subject: Subject, case: Case, place: int) -> bool:
    """Whether results have a gradient with respect to one array, or raise something else than that there is none."""
    leaf = _leaf(case.arrays[place].values)
    try:
        with enable_grad():
            results = [each for each in _outputs(_call(subject, case, [place], [leaf])) if each.requires_grad]
            if not results:
                return False
            (found,) = grad(results, [leaf], [each.detach() for each in results], allow_unused=True)
    except NotImplementedError:
        return False
    except Exception:
        return True
    return found is not None


def _call(subject: Subject, case: Case, places: Sequence[int], given: Iterable[Tensor]) -> checking.Call:
    """Return the call with Tensors in place of some of its arrays."""
    new = dict(zip(places, given, strict=True))
    count = iter(range(len(case.arrays)))
    return case.call(subject.operator).converted(lambda tensor: new.get(next(count), tensor))


def _outputs(call: checking.Call) -> list[Tensor]:
    """Return the results that derivatives may be of."""
    with checking.drawing_again(call) if Tag.nondeterministic_seeded in call.operator.tags else nullcontext():
        found = [each.tensor for each in checking.results_of(call.operator, call())]
    return [each for each in found if each.is_floating_point() or each.is_complex()]


def _wrong(found: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> str | None:
    """Return how a tangent differs from how values change, where that is known."""
    if found.shape != want.shape:
        return f"of shape {found.shape}, not {want.shape}"
    is_wrong = np.isfinite(want) & ~(np.abs(found - want) <= _NEAR * (1.0 + np.abs(want)))
    if not is_wrong.any():
        return None
    index = tuple(int(each[0]) for each in np.nonzero(is_wrong)) if is_wrong.ndim else ()
    return f"{found[index]:.6g} at {list(index)}, and not {want[index]:.6g}"
