"""`gradcheck`: a function's derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opwright.autograd.checking import analytical, conduct, fast, numerical
from opwright.autograd.checking.options import Checks, Tolerances
from opwright.autograd.checking.problem import Problem
from opwright.autograd.checking.report import Comparison
from opwright.errors import GradcheckError
from opwright_core.tensors.tensor import Tensor

__all__ = ["gradcheck", "passes"]


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of `func(*inputs)`, by those inputs that require grad, are those of finite differences.

    Compares each entry of the Jacobians, to `atol + rtol·|numerical|`, with a central difference of step `eps`; in
    `fast_mode` one random combination of them. Also: the backward repeats itself (to `nondet_tol`), gives zero for
    zero, and takes undefined gradients as zeros. Inputs should be float64 or complex128; `func` returns Tensors, of
    which those that require grad are checked. `masked` has no effect: it is about sparse tensors.

    Raises GradcheckError, or with `raise_exception=False` returns False, where a derivative is wrong; ValueError if no
    input requires grad; RuntimeError if an input overlaps itself; what `func` and its backward raise. The options are
    those of `torch.autograd.gradcheck`.
    """
    checks = Checks(
        eps, Tolerances(atol, rtol), nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        check_forward_ad, check_backward_ad, fast_mode, check_batched_forward_grad,
    )  # fmt: skip
    return passes(Problem(func, inputs), checks, raise_exception)


def passes(problem: Problem, checks: Checks, raise_exception: bool) -> bool:
    """Whether all checks hold; the first that does not is raised, or makes it False."""
    if not checks.reverse and not checks.forward:
        raise ValueError("gradcheck has nothing to check: both check_forward_ad and check_backward_ad are False")
    if checks.batched and not checks.reverse:
        raise ValueError("check_batched_grad=True is about the backward, but check_backward_ad is False")
    if checks.batched_forward and not checks.forward:
        raise ValueError("check_batched_forward_grad=True is about forward mode, but check_forward_ad is False")
    problem.check_inputs()
    try:
        _check(problem, checks)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(problem: Problem, checks: Checks) -> None:
    if problem.is_constant:
        _check_constant(problem, checks)
        return
    if checks.fast:
        _check_fast(problem, checks)
    else:
        _check_jacobians(problem, checks)
    if checks.forward and checks.undefined:
        conduct.check_undefined_tangents(problem)
    if checks.batched_forward:
        conduct.check_batched_forward(problem)
    if checks.reverse:
        if checks.batched:
            conduct.check_batched(problem)
        conduct.check_zero(problem)
        if checks.undefined:
            conduct.check_undefined(problem)


def _check_constant(problem: Problem, checks: Checks) -> None:
    """Check that no output depends on the inputs, where none requires grad."""
    for given in problem.inputs:
        for position, table in enumerate(numerical.jacobian(problem, given, checks.eps)):
            if not checks.tolerances.agree(np.zeros_like(table), table):
                raise GradcheckError(
                    f"no output of {problem.name} requires grad, but {problem.output_label(position)} moves with "
                    f"{given.label} (its largest derivative is {np.abs(table).max():.6g}): its history is lost on the "
                    "way (detach, no_grad, NumPy), or an operator in it has no derivative formula"
                )


def _check_fast(problem: Problem, checks: Checks) -> None:
    if checks.reverse:
        fast.check_reverse(problem, checks)
    if checks.forward:
        fast.check_forward(problem, checks)


def _check_jacobians(problem: Problem, checks: Checks) -> None:
    """Compare the Jacobians of each output and input, entry by entry."""
    expected = [numerical.jacobian(problem, given, checks.eps) for given in problem.inputs]
    outputs = problem.outputs()
    for position, output in enumerate(outputs if checks.reverse else ()):
        found = analytical.reverse_jacobian(problem, output, checks.dtypes)
        again = analytical.reverse_jacobian(problem, output)
        conduct.check_repeats(problem, position, found, again, checks.nondet_tol)
        for given, table, tables in zip(problem.inputs, found, expected, strict=True):
            comparison = Comparison(problem, given, position, output.shape, "reverse", checks.tolerances)
            comparison.check(table, tables[position])
    for given, tables in zip(problem.inputs if checks.forward else (), expected, strict=False):
        found = analytical.forward_jacobian(problem, given, checks.dtypes)
        for position, (output, table) in enumerate(zip(outputs, found, strict=True)):
            comparison = Comparison(problem, given, position, output.shape, "forward", checks.tolerances)
            comparison.check(table, tables[position])
