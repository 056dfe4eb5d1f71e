"""Fast mode: Jacobians compared in one random direction of the input and one of the output, not entry by entry.

For a function f, a direction u of an input and v of an output: <v, df/du> is a finite difference of two calls, and
<gradient from v, u> a single backward pass. Inner products are of real and imaginary parts, Re(conj(a)·b), which is
what PyTorch's gradients of complex tensors are for, so real and complex need no cases. Directions have positive parts:
entries of one sign do not cancel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opwright.autograd.checking import analytical, numerical
from opwright.autograd.checking.conduct import check_repeats
from opwright.autograd.checking.options import Checks
from opwright.autograd.checking.problem import Input, Numbers, Problem, Table, numbers_of, tensor_like
from opwright.autograd.checking.report import Comparison
from opwright.errors import GradcheckError
from opwright_core.tensors.tensor import Tensor

__all__ = ["check_forward", "check_reverse"]

SEED = 0  # the same directions every time: a failure can be repeated


def check_reverse(problem: Problem, checks: Checks) -> None:
    """Compare backward passes with finite differences. Raises GradcheckError."""
    outputs = problem.outputs()
    random = np.random.default_rng(SEED)
    steps = [_direction(numbers_of(each.tensor), random) for each in problem.inputs]
    moved = [numerical.along(problem, each, step, checks.eps) for each, step in zip(problem.inputs, steps, strict=True)]
    for position, output in enumerate(outputs):
        v = _direction(numbers_of(output), random)
        cotangent = [tensor_like(v, output.dtype, output.device)]
        grads, again = (analytical.backward(problem, [output], cotangent) for _ in range(2))
        check_repeats(problem, position, grads, again, checks.nondet_tol)
        for number, (given, u, grad) in enumerate(zip(problem.inputs, steps, grads, strict=True)):
            if checks.dtypes and grad is not None:
                analytical.check_dtype(grad, given.tensor, f"gradient of {given.label}")
            comparison = Comparison(problem, given, position, output.shape, "reverse", checks.tolerances)
            found = 0.0 if grad is None else _inner(numbers_of(grad), u)

            def whole(output: Tensor = output, number: int = number) -> Table:
                return analytical.reverse_jacobian(problem, output)[number]

            _compare(comparison, u, v, found, _inner(v, moved[number][position]), checks.eps, whole)


def check_forward(problem: Problem, checks: Checks) -> None:
    """Compare dual tensors with finite differences. Raises GradcheckError."""
    random = np.random.default_rng(SEED)
    values = problem.values()
    for given in problem.inputs:
        u = _direction(numbers_of(given.tensor), random)
        found = analytical.tangents(problem, {id(given.tensor): u}, checks.dtypes)
        moved = numerical.along(problem, given, u, checks.eps)
        for position, (tangent, derivative) in enumerate(zip(found, moved, strict=True)):
            v = _direction(values[position], random)
            comparison = Comparison(problem, given, position, tangent.shape, "forward", checks.tolerances)

            def whole(given: Input = given, position: int = position) -> Table:
                return analytical.forward_jacobian(problem, given)[position]

            _compare(comparison, u, v, _inner(v, tangent), _inner(v, derivative), checks.eps, whole)


def _direction(like: Numbers, random: np.random.Generator) -> Numbers:
    """Return a random vector of length 1."""
    drawn: Numbers = np.asarray(random.random(like.shape))
    if np.iscomplexobj(like):
        drawn = drawn + 1j * random.random(like.shape)
    length = float(np.linalg.norm(drawn))
    return drawn / length if length else drawn


def _inner(first: Numbers, second: Numbers) -> float:
    return float(np.vdot(first, second).real)


def _compare(
    comparison: Comparison,
    u: Numbers,
    v: Numbers,
    found: float,
    expected: float,
    eps: float,
    whole: Callable[[], Table],
) -> None:
    """Compare two projections; where they differ, the whole Jacobians, which tell why."""
    many = float(np.abs(u).sum() * np.abs(v).sum())
    scaled = comparison.tolerances.times(many)
    if scaled.agree(np.array(found), np.array(expected)):
        return
    problem, given = comparison.problem, comparison.given
    head = (
        f"fast gradcheck: {comparison.names}, in random directions of both, is {found:.6g} in {comparison.mode} mode "
        f"and {expected:.6g} by finite differences"
    )
    analytical_table, numerical_table = whole(), numerical.jacobian(problem, given, eps)[comparison.place]
    if comparison.tolerances.agree(analytical_table, numerical_table):
        raise GradcheckError(
            f"{head}.\n  All {analytical_table.size} entries of the Jacobians agree by themselves, to "
            f"{comparison.tolerances}: their differences add up. fast_mode=False passes here; or is the function not "
            "deterministic?"
        )
    raise GradcheckError(f"{head}. As fast_mode=False shows:\n{comparison.mismatch(analytical_table, numerical_table)}")
