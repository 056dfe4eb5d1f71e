"""The comparison of two operators: results, what is written and shared, results without data, gradients, tangents
and batches, on all samples drawn for either. Each pair is compared in a process of its own, which may crash or hang."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

import opwright
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.tensors.tensor import Tensor
from opwright_gate.cases import Case
from opwright_gate.comparing import equal
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.variations import at_bounds, variations

__all__ = ["differ", "same_pairs"]

_SECONDS: Final = 20
_SAME, _OTHER = 0, 1


def same_pairs(
    pairs: Sequence[tuple[str, str, str]], seed: int, jobs: int, tell: Callable[[int], None] | None = None
) -> list[bool]:
    """Return for each pair of names, with the key that differs, whether nothing tells the two apart: what that key
    cannot change is not asked. A pair whose process dies or hangs is told apart. `tell` hears how many are done."""
    found = [False] * len(pairs)
    waiting, running = list(enumerate(pairs))[::-1], dict[int, int]()
    while waiting or running:
        while waiting and len(running) < jobs:
            number, (one, other, where) = waiting.pop()
            running[_started(one, other, seed, where)] = number
        pid, status = os.wait()
        if pid in running:
            found[running.pop(pid)] = status == 0
            if tell is not None:
                tell(len(pairs) - len(waiting) - len(running))
    return found


def _started(one: str, other: str, seed: int, where: str) -> int:
    """Start the process of a pair, which ends with 0 where nothing differs; return its id."""
    pid = os.fork()
    if not pid:
        status = _OTHER
        try:
            signal.alarm(_SECONDS)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nowhere, number)
            status = _OTHER if differ(one, other, seed, where) else _SAME
        finally:
            os._exit(status)
    return pid


def differ(one: str, other: str, seed: int, where: str = "") -> str:
    """Return in what two operators differ, "" for nothing; they take the same arguments."""
    first, second = find_operator(one), find_operator(other)
    only = _CHANGED_BY.get(where)
    questions = {only: _QUESTIONS[only]} if only else _QUESTIONS
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in _cases(first, second, seed):
            for what, ask in questions.items():
                if not _equal(_asked(ask, first, case, seed), _asked(ask, second, case, seed)):
                    return f"{what} of {case}"
    return ""


def _cases(first: Operator, second: Operator, seed: int) -> Iterator[Case]:
    for operator in (first, second):
        samples = Samples(Subject(operator.name, operator), seed)
        cases = [*samples.bases.values(), *samples.more]
        yield from cases
        for case in samples.some:
            for bound in at_bounds(case):
                yield bound
                yield from variations(operator, bound)
            yield from variations(operator, case)
            yield from samples.special(case)
            for layout in ("transposed", "sliced", "expanded"):
                yield case.laid(layout, frozenset(operator.signature.written))
            for size in case.sizes:
                yield from (case.resized({size: number}) for number in (0, 1, 9))


def _asked(ask: Callable[[Operator, Case], Any], operator: Operator, case: Case, seed: int) -> Any:
    """Return an answer, or the type of the error: its text names the operator."""
    opwright.manual_seed(seed)
    try:
        return ask(operator, case)
    except Exception as error:
        return type(error)


def _results(operator: Operator, case: Case) -> Any:
    call = case.call(operator)
    given = [each.numpy(force=True) for each in _tensors(call.arguments)]
    found = call()
    shared = [[np.may_share_memory(each.numpy(force=True), one) for one in given] for each in _tensors(found)]
    return [_look(found), _look(call.arguments), shared]


def _without_data(operator: Operator, case: Case) -> Any:
    answer = Subject(operator.name, operator).fake(case)
    if answer.error is not None:
        return type(answer.error)
    return [(tuple(each.shape), each.stride(), each.dtype) for each in _tensors(answer.result)]


def _leaves(operator: Operator, case: Case) -> tuple[list[Tensor], Callable[..., Any]]:
    """Return the floating-point Tensors of a call, and the function that makes it with others in their place."""
    arguments = list(case.call(operator).arguments)
    places = [
        place
        for place, value in enumerate(arguments)
        if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())
    ]

    def call(*leaves: Tensor) -> tuple[Tensor, ...]:
        given = list(arguments)
        for place, leaf in zip(places, leaves, strict=True):
            given[place] = leaf.clone() if place in operator.signature.written else leaf
        found = operator.call(*given)
        return tuple(each for each in _tensors(found) if each.is_floating_point() or each.is_complex())

    return [arguments[place] for place in places], call


def _gradients(operator: Operator, case: Case) -> Any:
    leaves, call = _leaves(operator, case)
    found = [each for each in call(*(each.requires_grad_() for each in leaves)) if each.requires_grad]
    weights = [opwright.rand_like(each) for each in found]
    return _values(opwright.autograd.grad(found, leaves, weights, allow_unused=True, create_graph=True))


def _tangents(operator: Operator, case: Case) -> Any:
    leaves, call = _leaves(operator, case)
    return _values(opwright.func.jvp(call, tuple(leaves), tuple(opwright.rand_like(each) for each in leaves)))


def _batches(operator: Operator, case: Case) -> Any:
    leaves, call = _leaves(operator, case)
    batched = [opwright.stack([each, each * 2], at % (each.dim() + 1)) for at, each in enumerate(leaves)]
    dims = tuple(at % (each.dim() + 1) for at, each in enumerate(leaves))
    return _values(opwright.vmap(call, dims)(*batched))


_QUESTIONS: Final[dict[str, Callable[[Operator, Case], Any]]] = {
    "results": _results,
    "results without data": _without_data,
    "gradients": _gradients,
    "tangents": _tangents,
    "batches": _batches,
}

_CHANGED_BY: Final = {"gradient": "gradients", "tangent": "tangents", "batch": "batches"}


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _look(value: Any) -> Any:
    """Return what can be compared of Tensors in lists: values, strides; other values as they are."""
    if isinstance(value, Tensor):
        return value.stride(), np.array(value.numpy(force=True))
    return [_look(item) for item in value] if isinstance(value, list | tuple) else value


def _values(value: Any) -> Any:
    """Return what can be compared of derivatives and batches, whose strides nobody promises: values."""
    if isinstance(value, Tensor):
        return np.array(value.numpy(force=True))
    return [_values(item) for item in value] if isinstance(value, list | tuple) else value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return equal(one, other)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other or (one != one and other != other))
