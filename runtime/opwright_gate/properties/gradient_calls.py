"""Calls with gradients: arguments that require grad, results that have some, gradients that come in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import numpy as np

from opwright.autograd import enable_grad, grad
from opwright.autograd import gradients as fitting
from opwright.autograd.fallbacks import NotImplementedNode, WarnNotImplementedNode
from opwright.autograd.recorders import Recorder
from opwright_core.arrays.dtypes import COMPLEX, FLOATING
from opwright_core.dispatch.registry.kernel_kinds import LazyWrapper
from opwright_core.keys import DispatchKey
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate import checking
from opwright_gate.cases import Array, Case
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject

__all__ = [
    "gradients_of",
    "has_formula",
    "incoming_for",
    "inputs_of",
    "is_few",
    "leaves",
    "noting_casts",
    "results_of",
    "small_calls",
]

_MOST: Final = 40  # elements of a call whose Jacobian is asked for


def has_formula(subject: Subject, case: Case) -> bool:
    """Whether results do not say that nobody gave one."""
    refused = NotImplementedNode, WarnNotImplementedNode
    with warnings.catch_warnings(), enable_grad():
        warnings.simplefilter("ignore")
        try:
            call = leaves(subject, case)
            return not any(
                isinstance(each.tensor.grad_fn, refused) for each in checking.results_of(call.operator, call())
            )
        except Exception:
            return True


def small_calls(case: Case, samples: Samples) -> Iterator[Case]:
    """Yield calls of few elements: as drawn, with a size of 1 in one array, and others."""
    sizes = dict(zip(case.sizes, (2, 3, 1), strict=False))
    small = case.resized(sizes)
    taken = small if samples.subject.refusal(small) is None and is_few(small) else case
    yield taken
    if len(taken.arrays) > 1:
        for number in range(len(taken.arrays)):
            count = iter(range(len(taken.arrays)))
            yield taken.converted(
                lambda a, _, count=count, number=number: (  # type: ignore[misc]
                    Array(a.values[:1].copy()) if next(count) == number and a.values.ndim else a
                )
            )
    yield from [each for each in samples.more[:2] if is_few(each)]


def is_few(case: Case) -> bool:
    return sum(each.values.size for each in case.arrays) <= _MOST


def leaves(subject: Subject, case: Case) -> checking.Call:
    """Return the call with Tensors that require grad, but those which a schema file gives no formula."""
    call = case.call(subject.operator)
    declared = _declared_operands(subject)
    for each in call.operands:
        is_inexact = each.tensor.dtype in FLOATING or each.tensor.dtype in COMPLEX
        if is_inexact and (declared is None or each.position in declared):
            each.tensor.requires_grad_()
    return call


def _declared_operands(subject: Subject) -> tuple[int, ...] | None:
    """Return the positions of arguments for which a schema file has formulas, None where there is no such file."""
    registered = subject.operator.registrations.get(DispatchKey.Autograd)
    kernel = registered[-1].kernel if registered else None
    if not isinstance(kernel, LazyWrapper):
        return None
    if kernel.loaded is None:
        kernel.load()
    make = kernel.loaded.make if kernel.loaded is not None else None
    return tuple(cast(Any, make.node).operands) if isinstance(make, Recorder) else None


def results_of(call: checking.Call) -> list[Tensor]:
    return [each.tensor for each in checking.differentiable(checking.results_of(call.operator, call()))]


def inputs_of(call: checking.Call) -> list[Tensor]:
    return [each.tensor for each in call.operands if each.tensor.requires_grad]


def gradients_of(results: list[Tensor], inputs: list[Tensor], incoming: list[Any]) -> list[Any]:
    found = grad(results, inputs, incoming, retain_graph=True, allow_unused=True)
    return [None if each is None else each.detach().numpy(force=True) for each in found]


def incoming_for(results: list[Tensor]) -> list[Tensor]:
    """Return incoming gradients, all of other numbers."""
    return [
        wrap(np.asarray(_numbers(each.shape)).astype(np.asarray(each.detach().numpy(force=True)).dtype))
        for each in results
    ]


def _numbers(shape: Any) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).uniform(0.5, 2, tuple(shape))


@contextmanager
def noting_casts() -> Iterator[list[tuple[Any, Any]]]:
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
