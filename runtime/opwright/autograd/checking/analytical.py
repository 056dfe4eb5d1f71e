"""Derivatives from the function's own formulas: a backward pass for each output element, or a dual for each input's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright.autograd.checking.numerical import directions, empty_table, put
from opwright.autograd.checking.problem import (
    Input,
    Numbers,
    Problem,
    Table,
    is_complex,
    numbers_of,
    tensor_like,
)
from opwright.autograd.differentiate import grad
from opwright.errors import GradcheckError
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.tensors.tensor import Tensor

__all__ = ["backward", "check_dtype", "forward_jacobian", "reverse_jacobian", "tangents"]


def backward(problem: Problem, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], **options: Any) -> Any:
    """Return the gradients of all inputs, None for those a backward gives none. The graph is kept."""
    inputs = [each.tensor for each in problem.inputs]
    try:
        return grad(outputs, inputs, cotangents, retain_graph=True, allow_unused=True, **options)
    except Exception as error:
        if not isinstance(error, GradcheckError):
            shapes = ", ".join(str(list(each.shape)) for each in cotangents)
            error.add_note(f"in gradcheck's backward pass of {problem.name}, from a gradient of shape {shapes}")
        raise


def reverse_jacobian(problem: Problem, output: Tensor, check_dtypes: bool = False) -> list[Table]:
    """Return the Jacobian of one output with respect to each input, by backward passes."""
    tables = [empty_table(each.tensor, numbers_of(output)) for each in problem.inputs]
    for index, step, direction in directions(output):
        grads = backward(problem, [output], [tensor_like(step, output.dtype, output.device)])
        for given, table, found in zip(problem.inputs, tables, grads, strict=True):
            if found is None:
                continue
            if check_dtypes:
                check_dtype(found, given.tensor, f"gradient of {given.label}")
            table[:, index, 0 if direction == 1 else 1] = numbers_of(found).reshape(-1)
    return tables


def forward_jacobian(problem: Problem, given: Input, check_dtypes: bool = False) -> list[Table]:
    """Return the Jacobian of each output with respect to one input, by dual tensors."""
    tables: list[Table] = []
    for index, step, direction in directions(given.tensor):
        found = tangents(problem, {id(given.tensor): step}, check_dtypes)
        tables = tables or [empty_table(given.tensor, each) for each in found]
        for table, derivative in zip(tables, found, strict=True):
            put(table, index, direction, derivative)
    return tables or [empty_table(given.tensor, each) for each in problem.values()]


def tangents(problem: Problem, directions: dict[int, Numbers], check_dtypes: bool = False) -> list[Numbers]:
    """Return the tangent of each output, from those of some inputs, by their id; zeros for one that has none."""
    from opwright.autograd import forward_ad

    found = []
    with forward_ad.dual_level():
        duals = {}
        for each in problem.inputs:
            tensor = each.tensor
            if id(tensor) in directions:
                direction = tensor_like(directions[id(tensor)], tensor.dtype, tensor.device)
                duals[id(tensor)] = forward_ad.make_dual(tensor, direction)
        for position, output in enumerate(problem.outputs(duals)):
            primal, tangent = forward_ad.unpack_dual(output)
            if tangent is None:
                found.append(np.zeros(primal.shape, np.complex128 if is_complex(primal) else np.float64))
                continue
            if check_dtypes:
                check_dtype(tangent, primal, f"tangent of {problem.output_label(position)}")
            found.append(numbers_of(tangent))
    return found


def check_dtype(derivative: Tensor, tensor: Tensor, what: str) -> None:
    """Raise GradcheckError where a derivative is not of its tensor's dtype."""
    if derivative.dtype != tensor.dtype:
        raise GradcheckError(
            f"the {what} is {dtype_name(derivative.dtype)}, but the tensor is {dtype_name(tensor.dtype)}"
        )
