"""`einsum`: sums of products in Einstein's notation, as matrix products of permuted and reshaped operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import opwright
from opwright.autograd.quick import is_fast_path
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds

Operand = Any  # a Tensor
_ELLIPSIS = "..."


@dataclass(frozen=True)
class _Equation:
    """The labels of each operand and of the result, in order; `...` stands for any number of dimensions."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def einsum(equation: str, tensors: Sequence[Operand], path: Sequence[int] | None = None) -> Operand:
    """Return products of the operands' elements, summed over the labels that the result does not have.

    `equation` is as in `torch.einsum`: a letter a dimension, `...` for dimensions that broadcast, a letter twice in one
    operand for its diagonal; without `->`, the result has the letters that occur once, in order. `path` lists which
    two operands are multiplied next, as `opt_einsum` does; else they are from left to right. Raises RuntimeError for an
    equation that is none, or that the operands do not fit.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    if len(tensors) == 2 and path is None:
        product = _matrix_product(equation, *tensors)
        if product is not None:
            return product
    parsed = _parse(equation)
    if len(parsed.inputs) < len(tensors):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(parsed.inputs) > len(tensors):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    ellipsis = _ellipsis_dims(parsed, tensors)
    # The axes of all operands alike: first those of the result, then those summed over.
    output = _axes(parsed.output, ellipsis)
    every = dict.fromkeys(axis for labels in (parsed.output, *_summed(parsed)) for axis in _axes(labels, ellipsis))
    axes = {axis: position for position, axis in enumerate(every)}
    aligned = [
        _align(tensor, labels, axes, ellipsis, position)
        for position, (tensor, labels) in enumerate(zip(tensors, parsed.inputs, strict=True))
    ]
    _check_sizes(aligned, list(axes))
    if len(aligned) == 1:
        summed = list(range(len(output), len(axes)))
        return opwright.ops.aten.sum(aligned[0], summed) if summed else aligned[0]
    return _contract(aligned, len(output), path)


def _matrix_product(equation: str, first: Operand, second: Operand) -> Operand | None:
    """Return the result of an equation that is a product of matrices, or of batches of them, in one step; None for any
    other, and where somebody looks at the steps."""
    turns = _turns(equation)
    if turns is None or not is_fast_path(first, second):
        return None
    ndim, turn_first, turn_second = turns
    if len(first.shape) != ndim or len(second.shape) != ndim or first.dtype != second.dtype:
        return None
    aten = opwright.ops.aten
    left = aten.transpose(first, -2, -1) if turn_first else first
    right = aten.transpose(second, -2, -1) if turn_second else second
    if left.shape[-1] != right.shape[-2] or left.shape[:-2] != right.shape[:-2]:
        return None
    return aten.mm(left, right) if ndim == 2 else aten.bmm(left, right)


@lru_cache(maxsize=256)
def _turns(equation: str) -> tuple[int, bool, bool] | None:
    """Return the number of dimensions, and which operand is to be transposed, of an equation such as `bij,bjk->bik`."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    first, comma, second = left.partition(",")
    labels = first + second + output
    if not (arrow and comma and labels.isalpha() and labels.isascii()) or len(set(first)) != len(first):
        return None
    if not 1 < len(first) == len(second) == len(output) < 4 or not first[:-2] == second[:-2] == output[:-2]:
        return None
    rows, columns = output[-2], output[-1]
    summed = set(first[-2:]) - {rows}
    if (
        rows not in first[-2:]
        or columns not in second[-2:]
        or set(second[-2:]) - {columns} != summed
        or columns in first
    ):
        return None
    return len(first), first[-1] == rows, second[-1] != columns


# The equation


def _parse(equation: str) -> _Equation:
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    inputs = tuple(_labels(part, equation) for part in left.split(","))
    if arrow:
        output = _labels(right, equation)
        for label in output:
            if output.count(label) > 1:
                raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
            if label != _ELLIPSIS and not any(label in labels for labels in inputs):
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
        return _Equation(inputs, output)
    every = [label for labels in inputs for label in labels]
    once = sorted(label for label in every if every.count(label) == 1 and label != _ELLIPSIS)
    return _Equation(inputs, ((_ELLIPSIS,) if _ELLIPSIS in every else ()) + tuple(once))


def _labels(text: str, equation: str) -> tuple[str, ...]:
    before, dots, after = text.partition(_ELLIPSIS)
    for label in before + after:
        if label == ".":
            raise RuntimeError(
                f"einsum(): found '.' that is not part of the one ellipsis of an operand in {equation!r}"
            )
        if not (label.isalpha() and label.isascii()):
            raise RuntimeError(f"einsum(): invalid subscript {label!r} in {equation!r}, subscripts must be in [a-zA-Z]")
    return (*before, *([_ELLIPSIS] if dots else ()), *after)


def _summed(equation: _Equation) -> list[tuple[str, ...]]:
    """Return the labels that the result lacks, `...` first, then letters in order."""
    missing = {label for labels in equation.inputs for label in labels} - set(equation.output)
    return [(_ELLIPSIS,) if _ELLIPSIS in missing else (), tuple(sorted(missing - {_ELLIPSIS}))]


def _ellipsis_dims(equation: _Equation, tensors: Sequence[Operand]) -> int:
    """Return how many dimensions `...` stands for, at most."""
    most = 0
    for position, (labels, tensor) in enumerate(zip(equation.inputs, tensors, strict=True)):
        ndim, named = len(tensor.shape), len(labels)
        if _ELLIPSIS in labels:
            if ndim < named - 1:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named - 1}) is more than the number of "
                    f"dimensions ({ndim}) for operand {position}"
                )
            most = max(most, ndim - named + 1)
        elif ndim != named:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
                f"dimensions ({ndim}) for operand {position} and no ellipsis was given"
            )
    return most


def _axes(labels: Sequence[str], ellipsis: int) -> list[str]:
    """Return the labels, and a name for each dimension of `...`."""
    return [
        axis for label in labels for axis in ([f"...{k}" for k in range(ellipsis)] if label == _ELLIPSIS else [label])
    ]


# Operands


def _align(tensor: Operand, labels: Sequence[str], axes: dict[str, int], ellipsis: int, position: int) -> Operand:
    """Return the operand with the dimensions `axes`: diagonals taken, size 1 where it has no such label."""
    aten = opwright.ops.aten
    missing = ellipsis - (len(tensor.shape) - len(labels) + 1) if _ELLIPSIS in labels else 0
    dim_of: dict[str, int] = {}
    dim = 0
    for axis in _axes(labels, ellipsis):
        if axis in dim_of:
            first = dim_of[axis]
            if not holds(tensor.shape[dim] == tensor.shape[first]):
                raise RuntimeError(
                    f"einsum(): subscript {axis} is repeated for operand {position} but the sizes don't match, "
                    f"{tensor.shape[dim]} != {tensor.shape[first]}"
                )
            tensor = aten.movedim(aten.diagonal(tensor, 0, first, dim), -1, first)
            continue
        if axis.startswith(_ELLIPSIS) and int(axis[3:]) < missing:
            tensor = aten.unsqueeze(tensor, dim)
        dim_of[axis] = dim
        dim += 1
    for axis in axes:
        if axis not in dim_of:
            tensor = aten.unsqueeze(tensor, -1)
            dim_of[axis] = dim
            dim += 1
    return aten.permute(tensor, [dim_of[axis] for axis in axes])


def _check_sizes(aligned: Sequence[Operand], axes: Sequence[str]) -> None:
    for dim, axis in enumerate(axes):
        known = 1
        for position, tensor in enumerate(aligned):
            size = tensor.shape[dim]
            if guard_or_true(size != 1):
                if not (guard_or_false(known == 1) or holds(known == size)):
                    raise RuntimeError(
                        f"einsum(): subscript {axis} has size {size} for operand {position} which does not broadcast "
                        f"with previously seen size {known}"
                    )
                known = size


# Contraction


def _contract(aligned: list[Operand], kept: int, path: Sequence[int] | None) -> Operand:
    """Multiply the operands two by two; a dimension from `kept` on is summed over when the last two that have it
    meet."""
    aten = opwright.ops.aten
    ndim = len(aligned[0].shape)
    users = [sum(guard_or_true(tensor.shape[dim] != 1) for tensor in aligned) for dim in range(ndim)]
    operands = list(aligned)
    steps = _steps(path, len(operands))
    for first, second in steps:
        b, a = operands.pop(second), operands.pop(first)
        together, alone = [], ([], [])  # type: tuple[list[int], tuple[list[int], list[int]]]
        for dim in range(kept, ndim):
            in_a, in_b = (guard_or_true(each.shape[dim] != 1) for each in (a, b))
            if in_a and in_b:
                users[dim] -= 1
                if users[dim] == 1:
                    together.append(dim)
                    users[dim] = 0
            elif users[dim] == 1 and (in_a or in_b):
                alone[0 if in_a else 1].append(dim)
                users[dim] = 0
        a, b = (aten.sum(each, dims, True) if dims else each for each, dims in zip((a, b), alone, strict=True))
        operands.insert(len(operands) if path is not None else 0, _multiply(a, b, together))
    return aten.view(operands[0], list(operands[0].shape[:kept])) if ndim > kept else operands[0]


def _steps(path: Sequence[int] | None, count: int) -> list[tuple[int, int]]:
    if path is None:
        return [(0, 1)] * (count - 1)
    if len(path) != 2 * (count - 1):
        raise RuntimeError(f"einsum(): expected contraction path to have size {2 * (count - 1)}, but got {len(path)}")
    steps = []
    for step in range(count - 1):
        first, second = sorted(path[2 * step : 2 * step + 2])
        if first == second or first < 0 or second >= count - step:
            raise RuntimeError(f"einsum(): invalid contraction path ({first}, {second})")
        steps.append((first, second))
    return steps


def _multiply(left: Operand, right: Operand, summed: Sequence[int]) -> Operand:
    """Return the product of two operands of like dimensions, `summed` ones summed over and kept as 1: one batched
    product of matrices. Dimensions in both operands are its batch, those in one alone its rows and columns."""
    aten = opwright.ops.aten
    if not summed:
        return aten.mul(left, right)
    both: list[int] = []
    rows: list[int] = []
    columns: list[int] = []
    for dim in range(len(left.shape)):
        if dim not in summed:
            one_left, one_right = (guard_or_false(each.shape[dim] == 1) for each in (left, right))
            (columns if one_left else rows if one_right else both).append(dim)
    if rows and columns and columns[-1] < rows[0]:  # all columns stand first: the other way around they lie in order
        left, right, rows, columns = right, left, columns, rows
    batch, height, width = (
        [each.shape[dim] for dim in dims] for each, dims in ((left, both), (left, rows), (right, columns))
    )
    inner = prod(left.shape[dim] for dim in summed)
    first = aten.reshape(aten.permute(left, [*both, *rows, *summed, *columns]), [prod(batch), prod(height), inner])
    second = aten.reshape(aten.permute(right, [*both, *summed, *columns, *rows]), [prod(batch), inner, prod(width)])
    product = aten.view(aten.bmm(first, second), [*batch, *height, *(1 for _ in summed), *width])
    order = [*both, *rows, *summed, *columns]
    return aten.permute(product, [order.index(dim) for dim in range(len(order))])


def equation_of_sublists(operands: Sequence[Any]) -> tuple[str, list[Operand]]:
    """Return the equation and the operands of `einsum(op, [0, 1], op, [1, 2], [0, 2])`: labels are numbers from 0 to
    51, `...` is Ellipsis."""
    pairs = list(operands)
    output = pairs.pop() if len(pairs) % 2 else None
    texts = [_letters(sublist) for sublist in pairs[1::2]]
    arrow = "" if output is None else f"->{_letters(output)}"
    return ",".join(texts) + arrow, pairs[::2]


def _letters(sublist: Sequence[Any]) -> str:
    letters = []
    for label in sublist:
        if label is Ellipsis:
            letters.append(_ELLIPSIS)
        elif 0 <= label < 26:
            letters.append(chr(ord("A") + label))
        elif 26 <= label < 52:
            letters.append(chr(ord("a") + label - 26))
        else:
            raise ValueError("einsum(): expected subscript indices in range [0, 52)")
    return "".join(letters)
