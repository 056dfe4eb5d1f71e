"""Gradients and tangents beside those of the reference, where it has some, also where values are not smooth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opwright.autograd import enable_grad, grad
from opwright.func import jvp
from opwright_core.arrays.dtypes import complex128, float64
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import close, shown_error
from opwright_gate.properties.property import SECONDS, Problem, Property
from opwright_gate.references import Derivatives
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import at_bounds, variations
from opwright_gate.verdicts import Verdict

__all__ = ["ReferenceDerivatives"]

_FACTOR = 1000.0  # times what rounding makes of float64's results: terms of derivatives cancel
_MOST = 4000  # elements


class ReferenceDerivatives(Property):
    """Derivatives of an operator, and those of its reference for the same incoming gradients and directions."""

    name, title, group = "derivatives-as-reference", "Has the derivatives of its reference", "gradients"
    finds = "A gradient or tangent that is not PyTorch's (`--reference torch`), for special values and positions, too."
    example = "def backward(ctx, g):\n    return g * (x > 0)  # of x.clamp(min=0), whose gradient at 0 is PyTorch's 1"
    mend = "See the program; PyTorch's `derivatives.yaml` has the formulas."

    def applies(self, subject: Subject) -> bool | str:
        """Whether the reference has derivatives."""
        known = subject.reference
        if known is None or known.derivatives is None or subject.draws_random_numbers:
            return False
        signature = subject.operator.signature
        return all(place < signature.positional and place in signature.aliases for place in signature.written)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each cause."""
        known = subject.reference
        assert known is not None and known.derivatives is not None
        seen, until = set(), time.process_time() + 4 * SECONDS  # (the first call of PyTorch's alone takes most of one)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for case in _cases(subject, samples):
                if time.process_time() > until:
                    return
                for problem in _problems(subject, case, known.derivatives):
                    if problem.cause not in seen:
                        seen.add(problem.cause)
                        yield self.broken(subject, case, problem)


def _cases(subject: Subject, samples: Samples) -> Iterator[Case]:
    """Yield calls of float64 and complex128, with special values, and others."""
    bases = [_in(dtype, samples.bases[dtype]) for dtype in (float64, complex128) if dtype in samples.bases]
    yield from bases
    yield from samples.more
    for case in bases:
        for bound in at_bounds(case):
            yield bound
            yield from variations(subject.operator, bound)
        yield from variations(subject.operator, case)
        yield from (each for each in samples.special(case) if each.note in ("zeros", "negative", "equal"))
        yield from (case.resized({size: 1}) for size in case.sizes)


def _in(dtype: Any, case: Case) -> Case:
    """Return the call with its own dtype where a floating-point one is asked for."""
    return Case(tuple(dtype if isinstance(each, np.dtype) and each.kind in "fcV" else each for each in case.values))


def _problems(subject: Subject, case: Case, known: Derivatives) -> Iterator[Problem]:
    """Yield what is wrong with the gradients and the tangents of a call."""
    values = list(case.call(subject.operator).arguments)
    places = [
        place
        for place, value in enumerate(values)
        if isinstance(value, Tensor) and value.dtype in (float64, complex128)
    ]
    if not places or sum(each.values.size for each in case.arrays) > _MOST or subject.refusal(case) is not None:
        return
    for kind, ask in (("gradient", _gradients), ("tangent", _tangents)):
        try:
            found, wanted = ask(subject, values, places, known)
        except (_Silent, NotImplementedError):
            continue
        except Exception as error:
            if "jvp" not in str(error):  # (that there is none)
                yield Problem(f"{kind}-raises", f"the {kind}, which PyTorch has, raises {shown_error(error)}")
            continue
        for name, one, other in zip(*found, wanted, strict=True):
            text = _wrong(one, other)
            if text is not None:
                lines = (f"# the {kind} of {name} is another than PyTorch's",)
                yield Problem(f"{kind}-as-reference", f"the {kind} of {name} {text}", lines)
                break


class _Silent(Exception):
    """A reference that has no such derivative."""


def _said(ask: Callable[..., list[Any]], *given: Any) -> list[Any]:
    """Return what a reference says. Raises _Silent where it says nothing."""
    try:
        found = ask(*given)
    except Exception as error:
        raise _Silent from error
    if all(each is None for each in found):
        raise _Silent
    return found


_Asked = tuple[tuple[list[str], list[Any]], list[Any]]  # names and derivatives, and those of the reference


def _gradients(subject: Subject, values: list[Any], places: list[int], known: Derivatives) -> _Asked:
    leaves = {place: wrap(np.array(values[place].numpy(force=True))).requires_grad_() for place in places}
    with enable_grad():
        results = _results(subject, _put(subject, values, leaves))
        numbers = [n for n, each in enumerate(results) if each.requires_grad and each.dtype in (float64, complex128)]
        weights = {number: _like(results[number], 5 + number) for number in numbers}
        wanted = _said(known.gradients, values, places, weights)
        chosen = [results[number] for number in numbers]
        found = grad(chosen, list(leaves.values()), list(weights.values()), allow_unused=True)
    names = [subject.operator.signature.names[place] for place in places]
    return (names, [None if each is None else each.numpy(force=True) for each in found]), wanted


def _tangents(subject: Subject, values: list[Any], places: list[int], known: Derivatives) -> _Asked:
    directions = {place: _like(values[place], 7 + place) for place in places}
    wanted = _said(known.tangents, values, directions)

    def call(*inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(_results(subject, _put(subject, values, dict(zip(places, inputs, strict=True)))))

    inputs = tuple(wrap(np.array(values[place].numpy(force=True))) for place in places)
    _, found = jvp(call, inputs, tuple(directions.values()))
    names = [f"result {number}" for number in range(len(found))]
    return (names, [each.numpy(force=True) for each in found]), wanted


def _put(subject: Subject, values: list[Any], new: dict[int, Tensor]) -> list[Any]:
    """Return arguments with others in place of some, copies of these where they are written."""
    written = subject.operator.signature.written
    return [
        each if place not in new else new[place].clone() if place in written else new[place]
        for place, each in enumerate(values)
    ]


def _results(subject: Subject, given: list[Any]) -> list[Tensor]:
    found = subject.operator.call(*given)
    return [each.tensor for each in checking.results_of(subject.operator, found)]


def _like(tensor: Tensor, seed: int) -> Tensor:
    """Return numbers of both signs, of a tensor's shape and dtype."""
    random, like = np.random.default_rng(seed), tensor.detach().numpy(force=True)
    made = random.uniform(0.5, 1.5, like.shape) * random.choice([-1.0, 1.0], like.shape)
    return wrap(np.asarray(made + 0.5j * made[::-1] if like.dtype.kind == "c" and like.ndim else made, like.dtype))


def _wrong(found: Any, wanted: Any) -> str | None:
    """Return how a derivative differs; one that is missing is zero."""
    if wanted is None and found is None:
        return None
    found = np.zeros_like(wanted) if found is None else found
    wanted = np.zeros_like(found) if wanted is None else wanted
    if found.shape != wanted.shape:
        return f"has shape {found.shape}, and PyTorch's {wanted.shape}"
    if found.dtype.kind not in "fc" or close(found, wanted, _FACTOR):
        return None
    wrong = np.isfinite(wanted) & ~(np.abs(found - wanted) <= 1e-4 * (np.abs(wanted) + 1.0))
    if not wrong.any():
        return None
    index = tuple(int(each[0]) for each in np.nonzero(wrong)) if wrong.ndim else ()
    return f"is {found[index]:.6g} at {list(index)}, and PyTorch's {wanted[index]:.6g}"
