"""Further checks of a backward: it repeats itself, is zero for zeros, takes undefined gradients, and batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright.autograd import forward_ad
from opwright.autograd.checking.analytical import backward, tangents
from opwright.autograd.checking.problem import Numbers, Problem, Table, is_complex, numbers_of, tensor_like
from opwright.autograd.function import Function
from opwright.errors import GradcheckError
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "check_batched", "check_batched_forward", "check_repeats", "check_undefined", "check_undefined_tangents",
    "check_zero",
]  # fmt: skip

Gradients = Sequence[Tensor | Table | None]


def check_repeats(problem: Problem, position: int, first: Gradients, again: Gradients, most: float) -> None:
    """Check that two backward passes over one graph give each input the same, to `most`. Raises GradcheckError."""
    for given, one, other in zip(problem.inputs, first, again, strict=True):
        apart = np.abs(_or_zeros(one, given.tensor) - _or_zeros(other, given.tensor))
        if (apart > most).any():
            raise GradcheckError(
                f"the backward of {problem.name} is not deterministic: two passes over one graph, from "
                f"{problem.output_label(position)} to {given.label}, differ in {int((apart > most).sum())} of "
                f"{apart.size} entries, by up to {apart.max():.6g} (nondet_tol={most:g} is allowed)"
            )


def check_zero(problem: Problem) -> None:
    """Check that gradients of zero give zero. Raises GradcheckError."""
    outputs = problem.outputs()
    found = backward(problem, outputs, [aten["zeros_like.default"](each.detach()) for each in outputs])
    for given, grad in zip(problem.inputs, found, strict=True):
        if grad is not None and numbers_of(grad).any():
            raise GradcheckError(
                f"the gradient of {given.label} is not zero where the gradients of all outputs are: the backward of "
                f"{problem.name} must multiply by the gradients it is given"
            )


def check_undefined(problem: Problem) -> None:
    """Check that outputs without a gradient count as if it were zero, each alone and all. Raises GradcheckError."""
    count = len(problem.numbers)
    random = np.random.default_rng(0)
    for missing in [set(range(count)), *({position} for position in range(count) if count > 1)]:
        outputs = problem.outputs()
        cotangents = [_drawn(each, random) for each in outputs]
        zeros = [aten["zeros_like.default"](each) for each in cotangents]
        defined = [zeros[position] if position in missing else each for position, each in enumerate(cotangents)]
        expected = backward(problem, outputs, defined)
        roots = [_Undefined.apply(each) if position in missing else each for position, each in enumerate(outputs)]
        named = " and ".join(problem.output_label(position) for position in sorted(missing))
        try:
            found = backward(problem, roots, cotangents)
        except Exception as error:
            raise GradcheckError(
                f"the backward of {problem.name} fails where the gradient of {named} is undefined (None), which stands "
                f"for zeros: {error}"
            ) from error
        for given, grad, other in zip(problem.inputs, found, expected, strict=True):
            if not np.allclose(_or_zeros(grad, given.tensor), _or_zeros(other, given.tensor), equal_nan=True):
                raise GradcheckError(
                    f"the gradient of {given.label} is wrong where the gradient of {named} is undefined: the backward "
                    f"of {problem.name} gives another result for None than for zeros"
                )


def check_undefined_tangents(problem: Problem) -> None:
    """Check that an input without a tangent counts as if it were zero. Raises GradcheckError."""
    shapes = [numbers_of(each.tensor) for each in problem.inputs]
    for given, shape in zip(problem.inputs, shapes, strict=True):
        if len(problem.inputs) < 2:
            return
        zeros = {id(each.tensor): np.zeros_like(like) for each, like in zip(problem.inputs, shapes, strict=True)}
        step = {id(given.tensor): np.ones_like(shape)}
        pairs = zip(tangents(problem, step), tangents(problem, zeros | step), strict=True)
        for position, (alone, among) in enumerate(pairs):
            if not np.allclose(alone, among, equal_nan=True):
                raise GradcheckError(
                    f"the tangent of {problem.output_label(position)} of {problem.name} is wrong where {given.label} "
                    "alone has a tangent: it is another than where the other inputs' tangents are zeros"
                )


def check_batched(problem: Problem) -> None:
    """Check that a batch of gradients gives what each of them does. Raises GradcheckError."""
    random = np.random.default_rng(0)
    for position, output in enumerate(problem.outputs()):
        samples = [_drawn(output, random) for _ in range(2)]
        single = [backward(problem, [output], [each]) for each in samples]
        together = backward(problem, [output], [aten["stack.default"](samples)], is_grads_batched=True)
        for number, (given, found) in enumerate(zip(problem.inputs, together, strict=True)):
            expected = np.stack([_or_zeros(each[number], given.tensor) for each in single])
            got = np.zeros_like(expected) if found is None else numbers_of(found)
            if got.shape != expected.shape or not np.allclose(got, expected, equal_nan=True):
                raise GradcheckError(
                    f"the batched gradient of {problem.output_label(position)} of {problem.name} with respect to "
                    f"{given.label} differs from that of its samples one by one (is_grads_batched=True)"
                )


def check_batched_forward(problem: Problem) -> None:
    """Check that a batch of tangents gives what each of them does. Raises GradcheckError."""
    random = np.random.default_rng(0)
    for given in problem.inputs:
        samples = [_drawn(given.tensor, random) for _ in range(2)]

        def outputs(tangent: Tensor, tensor: Tensor = given.tensor) -> list[Tensor]:
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(tensor.detach(), tangent)
                pairs = [forward_ad.unpack_dual(each) for each in problem.outputs({id(tensor): dual})]
                return [
                    aten["zeros_like.default"](pair.primal) if pair.tangent is None else pair.tangent for pair in pairs
                ]

        single = [outputs(each) for each in samples]
        together = late_bound.transforms().vmap(outputs)(aten["stack.default"](samples))
        for position, found in enumerate(together):
            expected = np.stack([numbers_of(each[position]) for each in single])
            if found.shape != expected.shape or not np.allclose(numbers_of(found), expected, equal_nan=True):
                raise GradcheckError(
                    f"the batched tangent of {problem.output_label(position)} of {problem.name} with respect to "
                    f"{given.label} differs from that of its samples one by one (check_batched_forward_grad=True)"
                )


class _Undefined(Function):
    """A node whose gradient is undefined."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None


def _drawn(like: Tensor, random: np.random.Generator) -> Tensor:
    values = random.standard_normal(like.shape)
    if is_complex(like):
        values = values + 1j * random.standard_normal(like.shape)
    return tensor_like(values, like.dtype, like.device)


def _or_zeros(grad: Tensor | Table | None, like: Tensor) -> Numbers:
    if grad is None:
        return np.zeros_like(numbers_of(like))
    return numbers_of(grad) if isinstance(grad, Tensor) else grad
