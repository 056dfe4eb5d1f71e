"""`gradgradcheck`: the derivatives of a backward, which is checked as a function of the inputs and the gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opwright.autograd.checking.first_order import passes
from opwright.autograd.checking.options import Checks, Tolerances
from opwright.autograd.checking.problem import Problem, is_complex, tensor_like
from opwright.autograd.differentiate import grad
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["gradgradcheck"]


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of `func(*inputs)` can themselves be differentiated, and rightly.

    As `gradcheck`, of the function that maps `inputs` and `grad_outputs` (random, where not given; transposed in
    memory with `gen_non_contig_grad_outputs`) to the gradients of the inputs: in reverse over reverse mode, and
    forward over reverse with `check_fwd_over_rev`. Raises as it does.
    """
    checks = Checks(
        eps, Tolerances(atol, rtol), nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        check_fwd_over_rev, check_rev_over_rev, fast_mode,
    )  # fmt: skip
    given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else grad_outputs
    problem = _backward_of(Problem(func, inputs), given, gen_non_contig_grad_outputs)
    return passes(problem, checks, raise_exception)


def _backward_of(problem: Problem, given: Sequence[Tensor] | None, apart: bool) -> Problem:
    """Return the backward of a function, as a function of its arguments and the gradients of its outputs."""
    count = len(problem.arguments)
    outputs = problem.outputs()
    cotangents = _drawn(outputs, apart) if given is None else tuple(given)

    def backward(*arguments: Any) -> tuple[Tensor | None, ...]:
        inputs = problem.inputs_of(arguments[:count])
        return grad(
            problem.outputs_of(arguments[:count]), inputs, arguments[count:], create_graph=True, allow_unused=True
        )

    backward.__qualname__ = f"the backward of {problem.name}"
    labels = [
        *problem.labels,
        *(f"the gradient of {problem.output_label(position)}" for position in range(len(outputs))),
    ]
    output_labels = [f"the gradient of {each.label}" for each in problem.inputs]
    return Problem(backward, (*problem.arguments, *cotangents), labels, output_labels)


def _drawn(outputs: Sequence[Tensor], apart: bool) -> tuple[Tensor, ...]:
    random = np.random.default_rng(0)
    drawn = []
    for output in outputs:
        values = random.standard_normal((*output.shape, 2) if apart else output.shape)
        if is_complex(output):
            values = values + 1j * random.standard_normal(values.shape)
        made = tensor_like(values, output.dtype, output.device)
        drawn.append((aten["select.int"](made, -1, 0) if apart else made).requires_grad_())
    return tuple(drawn)
