"""`jacobian`: the derivative of each element of each output by each of each input."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from opwright.autograd import forward_ad
from opwright.autograd.differentiate import grad
from opwright.autograd.functional_values import (
    Function,
    Tensors,
    gradients_of,
    independent,
    inputs_of,
    outputs_of,
    prepared,
    shown,
)
from opwright.autograd.modes import enable_grad
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import COMPLEX, dtype_name
from opwright_core.tensors.tensor import Tensor

__all__ = ["jacobian"]


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of each element of each output by each of each input, of shape output + input.

    A tuple for several outputs, of tuples for several inputs. `strategy` is "reverse-mode", a pass for each element of
    an output, or "forward-mode", a call for each element of an input; with `vectorize` one pass or call for all, by
    `vmap`. Raises ValueError for another strategy.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f"Expected strategy to be 'forward-mode' or 'reverse-mode', but got: {strategy!r}")
    if strategy == "forward-mode":
        if create_graph or strict:
            what = "create_graph=True" if create_graph else "strict=True"
            raise NotImplementedError(
                f"jacobian with strategy='forward-mode' does not support {what}; use reverse-mode"
            )
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        several, given = inputs_of("jacobian", inputs)
        given = prepared(given, create_graph)
        are_several, outputs = outputs_of("jacobian", func(*given), strict)
        if strict and vectorize:
            raise RuntimeError(
                "jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`."
            )
        rows_of = _rows_at_once if vectorize else _rows
        rows = [rows_of(output, given, create_graph, strict) for output in outputs]
    made = [shown(row, several, create_graph) for row in rows]
    return tuple(made) if are_several else made[0]


def _rows(output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    """Return the Jacobian of one output. Raises RuntimeError for a complex one, whose derivatives are two."""
    if output.dtype in COMPLEX:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {dtype_name(output.dtype)}. "
            "strategy='forward-mode' takes it, where the function is holomorphic"
        )
    found: list[tuple[Tensor, ...]] = []
    for element in aten["reshape.default"](output, [-1]):
        if not element.requires_grad:
            if strict:
                raise RuntimeError(independent("jacobian", 0))
            found.append(tuple(aten["zeros_like.default"](each) for each in inputs))
            continue
        one = aten["ones_like.default"](element)
        found.append(gradients_of("jacobian", (element,), inputs, (one,), create_graph, strict))
    columns = zip(*found, strict=True) if found else [()] * len(inputs)
    return tuple(_stacked(column, output, each) for column, each in zip(columns, inputs, strict=True))


def _rows_at_once(
    output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:  # fmt: skip
    """Return the Jacobian of one output, by one backward pass."""
    found: Sequence[Tensor | None] = (None,) * len(inputs)
    if output.requires_grad and output.numel():
        found = grad(
            output, inputs, _basis(output), retain_graph=True, create_graph=create_graph, allow_unused=True,
            is_grads_batched=True,
        )  # fmt: skip
    made = []
    for value, each in zip(inputs, found, strict=True):
        shape = [*output.shape, *value.shape]
        zeros = aten["zeros.default"](shape, dtype=value.dtype, device=value.device) if each is None else each
        made.append(aten["reshape.default"](zeros, shape))
    return tuple(made)


def _basis(value: Tensor) -> Tensor:
    """Return, for each element of a tensor, the tensor that is 1 there and 0 elsewhere."""
    count = value.numel()
    eye = aten["eye.default"](count, dtype=value.dtype, device=value.device)
    made: Tensor = aten["reshape.default"](eye, [count, *value.shape])
    return made


def _stacked(values: Sequence[Tensor], output: Tensor, value: Tensor) -> Tensor:
    shape = [*output.shape, *value.shape]
    made: Tensor
    if not values:
        made = aten["zeros.default"](shape, dtype=value.dtype, device=value.device)
    else:
        made = aten["reshape.default"](aten["stack.default"](list(values)), shape)
    return made


def _forward_jacobian(func: Function, inputs: Tensors, vectorize: bool) -> Any:
    """Return the Jacobian by forward mode: one call for each element of an input, or one for all of it."""
    several, given = inputs_of("jacobian", inputs)
    columns: list[list[Sequence[Tensor]]] = []  # by input, by its element, by output
    for position, value in enumerate(given):
        tangents = functools.partial(_tangents, func, given, position)
        if vectorize and value.numel():
            found = late_bound.transforms().vmap(tangents)(_basis(value))
            columns.append(list(zip(*[aten["unbind.int"](each) for each in found], strict=True)))
        else:
            columns.append([tangents(direction) for direction in aten["unbind.int"](_basis(value))])
    are_several, outputs = outputs_of("jacobian", func(*given), False)
    rows: list[Any] = []
    for number, output in enumerate(outputs):
        row = []
        for value, column in zip(given, columns, strict=True):
            parts = [aten["reshape.default"](each[number], [-1]) for each in column]
            table = (
                aten["stack.default"](parts, 1)
                if parts
                else aten["zeros.default"]([output.numel(), 0], dtype=value.dtype)
            )
            row.append(aten["reshape.default"](table, [*output.shape, *value.shape]).detach())
        rows.append(tuple(row) if several else row[0])
    return tuple(rows) if are_several else rows[0]


def _tangents(func: Function, given: tuple[Tensor, ...], position: int, direction: Tensor) -> list[Tensor]:
    """Return the tangents of the outputs where the input at `position` has this one."""
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(value.detach(), direction if number == position else aten["zeros_like.default"](value))
            for number, value in enumerate(given)
        ]  # all of them: a function that differentiates finds tensors of one level
        _, outputs = outputs_of("jacobian", func(*duals), False)
        pairs = [forward_ad.unpack_dual(each) for each in outputs]
        return [
            aten["zeros_like.default"](pair.primal) if pair.tangent is None else pair.tangent for pair in pairs
        ]  # fmt: skip
