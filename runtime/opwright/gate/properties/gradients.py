"""Gradients: right, to second order, for whatever gradient comes in, and connected."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from opwright.autograd import enable_grad, grad, gradcheck, gradgradcheck, no_grad
from opwright.autograd import gradients as fitting
from opwright.autograd.fallbacks import NotImplementedNode, WarnNotImplementedNode
from opwright.errors import GradcheckError
from opwright.gate.cases import Array, Case, lay
from opwright.gate.comparing import close, shown_error
from opwright.gate.properties.property import Problem, Property
from opwright.gate.refusing import says_what_is_demanded
from opwright.gate.samples import Samples
from opwright.gate.subjects import Subject
from opwright.gate.verdicts import Verdict
from opwright.testing.checking.calls import Call, results_of
from opwright.testing.checking.registration import differentiable
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, float32, float64
from opwright_core.dispatch.registry.kernel_kinds import Fallthrough, LazyWrapper
from opwright_core.keys import DispatchKey
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["Gradients", "has_formula", "leaves"]

_KEYS: Final = ("Autograd", "AutogradCPU", "AutogradOther")
_MOST: Final = 40  # elements of a call whose Jacobian is asked for


class Gradients(Property):
    """Gradients by finite differences, and what a backward pass makes of what it is given."""

    name, title, group = "gradients-are-right", "Gradients are right", "gradients"
    finds = "A gradient that is wrong, unconnected, of another dtype or shape, or wrong for some incoming gradient."
    example = "def backward(ctx, g): return g.numpy().ravel() * 2  # g may lie otherwise"
    mend = "See the program; save what the formula reads by `ctx.save_for_backward`."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a formula, and what it needs."""
        if subject.origin != "opwright":
            return "gradients of PyTorch's operators are `torch.autograd.gradcheck`'s to say"
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
            for small in _small(case, samples):
                for question in _QUESTIONS:
                    problem = _asked(question, subject, small)
                    if problem is not None and problem.cause not in seen:
                        seen.add(problem.cause)
                        yield self.broken(subject, small, problem)
            for other, asked in self._others(samples, case):
                problem = _asked(asked, subject, other)
                if problem is not None and problem.cause not in seen:
                    seen.add(problem.cause)
                    yield self.broken(subject, other, problem)

    def _others(self, samples: Samples, case: Case) -> Iterator[tuple[Case, Callable[[Subject, Case], Problem | None]]]:
        if float32 in samples.floats:
            yield next(_small(samples.floats[float32], samples)), _dtype
        for size in case.sizes:
            yield case.resized({size: 0}), _empty


def has_formula(subject: Subject, case: Case) -> bool:
    """Whether results do not say that nobody gave one."""
    refused = NotImplementedNode, WarnNotImplementedNode
    with warnings.catch_warnings(), enable_grad():
        warnings.simplefilter("ignore")
        try:
            call = leaves(subject, case)
            return not any(isinstance(each.tensor.grad_fn, refused) for each in results_of(call.operator, call()))
        except Exception:
            return True


def _small(case: Case, samples: Samples) -> Iterator[Case]:
    """Yield calls of few elements: as drawn, with a size of 1 in one array, and others."""
    sizes = dict(zip(case.sizes, (2, 3, 1), strict=False))
    small = case.resized(sizes)
    taken = small if samples.subject.refusal(small) is None and _is_few(small) else case
    yield taken
    if len(taken.arrays) > 1:
        for number in range(len(taken.arrays)):
            count = iter(range(len(taken.arrays)))
            yield taken.converted(
                lambda a, _, count=count, number=number: (  # type: ignore[misc]
                    Array(a.values[:1].copy()) if next(count) == number and a.values.ndim else a
                )
            )
    yield from [each for each in samples.more[:2] if _is_few(each)]


def _is_few(case: Case) -> bool:
    return sum(each.values.size for each in case.arrays) <= _MOST


def _asked(question: Callable[[Subject, Case], Problem | None], subject: Subject, case: Case) -> Problem | None:
    if subject.refusal(case) is not None or not _is_few(case):
        return None
    try:
        return question(subject, case)
    except Exception as error:
        if isinstance(error, NotImplementedError) or says_what_is_demanded(error, ()):
            return None
        return Problem("backward-raises", f"the backward pass raises: {shown_error(error)}")


def leaves(subject: Subject, case: Case) -> Call:
    """Return the call with Tensors that require grad."""
    call = case.call(subject.operator)
    for each in call.operands:
        if each.tensor.dtype in FLOATING or each.tensor.dtype in COMPLEX:
            each.tensor.requires_grad_()
    return call


def _results(call: Call) -> list[Tensor]:
    return [each.tensor for each in differentiable(results_of(call.operator, call()))]


def _inputs(call: Call) -> list[Tensor]:
    return [each.tensor for each in call.operands if each.tensor.requires_grad]


def _gradients(results: list[Tensor], inputs: list[Tensor], incoming: list[Any]) -> list[Any]:
    found = grad(results, inputs, incoming, retain_graph=True, allow_unused=True)
    return [None if each is None else each.detach().numpy(force=True) for each in found]


def _ones(results: list[Tensor]) -> list[Tensor]:
    """Return incoming gradients, all of other numbers."""
    return [
        wrap(np.asarray(_numbers(each.shape)).astype(np.asarray(each.detach().numpy(force=True)).dtype))
        for each in results
    ]


def _numbers(shape: Any) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).uniform(0.5, 2, tuple(shape))


def _connected(subject: Subject, case: Case) -> Problem | None:
    """Return an input whose gradient is missing, although results change with it."""
    call = leaves(subject, case)
    inputs, results = _inputs(call), _results(call)
    if not inputs:
        return None
    if results:
        found = grad(results, inputs, _ones(results), allow_unused=True)
        if all(each is not None for each in found) or _is_generated(subject):
            return None  # (a schema file says of each argument whether it has a formula)
    else:
        found = (None,) * len(inputs)
    names = [each.name for each in call.operands if each.tensor.requires_grad]
    before = [np.array(each.detach().numpy(force=True)) for each in (results or _plain(call))]
    for name, each, position in zip(names, found, range(len(inputs)), strict=True):
        if each is None and _moves(subject, case, position, before):
            if not results:
                return Problem("gradient-unconnected", f"its result does not require grad, and changes with {name}")
            return Problem("gradient-unconnected", f"{name} has no gradient, and the result changes with it")
    return None


def _plain(call: Call) -> list[Tensor]:
    kinds = FLOATING | COMPLEX if isinstance(FLOATING, set | frozenset) else {*FLOATING, *COMPLEX}
    return [each.tensor for each in results_of(call.operator, call()) if each.tensor.dtype in kinds]


def _is_generated(subject: Subject) -> bool:
    registered = subject.operator.registrations.get(DispatchKey.Autograd)
    return registered is not None and type(registered[-1].kernel) is LazyWrapper


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


def _function(subject: Subject, case: Case) -> tuple[Callable[..., Any], list[Tensor]]:
    """Return a function of the float arguments alone, which gives float results."""
    call = leaves(subject, case)
    inputs = _inputs(call)

    def function(*given: Tensor) -> Any:
        places = {id(each): new for each, new in zip(inputs, given, strict=True)}
        moved = call.converted(lambda tensor: places.get(id(tensor), tensor))
        results = [each.tensor for each in differentiable(results_of(call.operator, moved()))]
        return results[0] if len(results) == 1 else tuple(results)

    return function, inputs


def _order(subject: Subject, case: Case) -> Problem | None:
    """Return what `gradcheck` and `gradgradcheck` say."""
    function, inputs = _function(subject, case)
    if not inputs or not _results(leaves(subject, case)):
        return None
    lines = ("# opwright.autograd.gradcheck of this call fails",)
    try:
        gradcheck(function, inputs, check_undefined_grad=False)
    except GradcheckError as error:
        text = str(error).partition("\n")[0]
        cause = "gradient-not-deterministic" if "repeat" in text or "reentrant" in text.lower() else "wrong-gradient"
        return Problem(cause, text, lines)
    except NotImplementedError:
        return None
    except Exception as error:
        if says_what_is_demanded(error, ()):
            return None
        return Problem("backward-raises", f"the backward pass raises: {shown_error(error)}", lines)
    try:
        gradgradcheck(function, inputs, check_undefined_grad=False)
    except GradcheckError as error:
        return Problem("wrong-second-gradient", str(error).partition("\n")[0], lines)
    except Exception:
        return _constant_backward(subject, case)
    return None


def _constant_backward(subject: Subject, case: Case) -> Problem | None:
    """Return that a backward pass cannot be differentiated and does not say so."""
    call = leaves(subject, case)
    results, inputs = _results(call), _inputs(call)
    incoming = [each.requires_grad_() for each in _ones(results)]
    try:
        found = [
            each for each in grad(results, inputs, incoming, create_graph=True, allow_unused=True) if each is not None
        ]
    except Exception:
        return None
    if found and not any(each.requires_grad for each in found):
        return Problem(
            "wrong-second-gradient", "its gradients follow from incoming ones, and are not connected to them"
        )
    return None


def _incoming(subject: Subject, case: Case) -> Problem | None:
    """Return how gradients differ where those that come in lie otherwise."""
    call = leaves(subject, case)
    results, inputs = _results(call), _inputs(call)
    if not results:
        return None
    given = [each.numpy() for each in _ones(results)]
    for layout in ("transposed", "sliced", "backwards", "expanded"):
        laid = [lay(Array(each, layout)) for each in given]
        try:
            wanted = _gradients(results, inputs, [wrap(np.array(each, order="C")) for each in laid])
        except Exception:
            return None
        try:
            found = _gradients(results, inputs, [wrap(each) for each in laid])
        except Exception as error:
            return Problem("gradient-layout", f"the backward pass raises for {layout} gradients: {shown_error(error)}")
        for one, other in zip(found, wanted, strict=True):
            if one is not None and other is not None and not close(one, other):
                return Problem("gradient-layout", f"gradients are others where those that come in are {layout}")
    return None


def _none(subject: Subject, case: Case) -> Problem | None:
    """Return what a backward pass from one of several results raises."""
    call = leaves(subject, case)
    results, inputs = _results(call), _inputs(call)
    for number, each in enumerate(results if len(results) > 1 else ()):
        try:
            found = _gradients([each], inputs, [_ones([each])[0]])
            zeros = [
                one if place == number else wrap(np.zeros_like(one.numpy())) for place, one in enumerate(_ones(results))
            ]
            zeros[number] = _ones([each])[0]
            wanted = _gradients(results, inputs, zeros)
        except Exception as error:
            return Problem("gradient-none", f"a backward pass from result {number} alone raises: {shown_error(error)}")
        for one, other in zip(found, wanted, strict=True):
            if (
                not close(np.zeros(1) if one is None else one, np.zeros_like(one) if other is None else other)
                and one is not None
            ):
                return Problem("gradient-none", f"a backward pass from result {number} alone gives other gradients")
    return None


def _saved(subject: Subject, case: Case) -> Problem | None:
    """Return that gradients follow from what an argument became after the call, without an error."""
    call = leaves(subject, case)
    inputs = _inputs(call)
    copies = {id(each): each.clone() for each in inputs}
    moved = call.converted(lambda tensor: copies.get(id(tensor), tensor))
    results = [each.tensor for each in differentiable(results_of(call.operator, moved()))]
    if not results:
        return None
    wanted = _gradients(results, inputs, _ones(results))
    for each in copies.values():
        with no_grad():
            each.mul_(3.0)
    try:
        found = _gradients(results, inputs, _ones(results))
    except Exception:
        return None
    for one, other in zip(found, wanted, strict=True):
        if one is not None and other is not None and not close(one, other):
            why = "gradients are others when an argument is changed after the call, and no error says so"
            return Problem("saved-mutated", why)
    return None


def _dtype(subject: Subject, case: Case) -> Problem | None:
    """Return a gradient of another dtype than its input's: the engine casts it, so that nobody else sees it."""
    call = leaves(subject, case)
    results, inputs = _results(call), _inputs(call)
    if not results:
        return None
    with _casts() as seen:
        try:
            _gradients(results, inputs, _ones(results))
        except Exception:
            return None
    if not seen:
        return None
    return Problem("gradient-dtype", f"its backward pass returns {seen[0][0]} for an argument of {seen[0][1]}")


@contextmanager
def _casts() -> Iterator[list[tuple[Any, Any]]]:
    """Run with the casts of gradients noted."""
    seen: list[tuple[Any, Any]] = []
    kept = fitting._cast

    def noting(grad: Tensor, dtype: Any, node: Any, index: int) -> Tensor:
        seen.append((grad.dtype, dtype))
        return kept(grad, dtype, node, index)

    fitting._cast = noting
    try:
        yield seen
    finally:
        fitting._cast = kept


def _empty(subject: Subject, case: Case) -> Problem | None:
    """Return what a backward pass without elements raises."""
    call = leaves(subject, case)
    results, inputs = _results(call), _inputs(call)
    if not results:
        return None
    try:
        found = _gradients(results, inputs, _ones(results))
    except Exception as error:
        if says_what_is_demanded(error, ()):
            return None
        return Problem("gradient-empty", f"the backward pass of an empty call raises: {shown_error(error)}")
    for one, each in zip(found, inputs, strict=True):
        if one is not None and one.shape != tuple(each.shape):
            return Problem("gradient-empty", f"the gradient of an empty call has shape {one.shape}")
    return None


_QUESTIONS: Final = (_connected, _order, _incoming, _none, _saved)
