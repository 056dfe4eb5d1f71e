"""Linear and bilinear layers, and classes as unit vectors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_fast_path
from opwright.namespaces import aten
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, int64
from opwright_core.arrays.sizes import holds
from opwright_core.tensors.tensor import wrap

Operand = Any


def linear(input: Operand, weight: Operand, bias: Operand | None) -> Operand:
    """Return input @ weight.T + bias, over the last dimension."""
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {len(input.shape)}D and "
            f"{len(weight.shape)}D"
        )
    turned = aten["t.default"](weight)
    if bias is None:
        return aten["matmul.default"](input, turned)
    if input.ndim == 2:
        return aten["addmm.default"](bias, input, turned)
    product = aten["matmul.default"](input, turned)
    if as_dtype(bias.dtype) != as_dtype(product.dtype):
        raise RuntimeError(f"bias and input must have one dtype, but got {bias.dtype} and {product.dtype}")
    return aten["add_.Tensor"](product, bias)


def bilinear(input1: Operand, input2: Operand, weight: Operand, bias: Operand | None) -> Operand:
    """Return input1 @ weight[k] @ input2 for each k, plus bias[k]: over the last dimensions of the inputs."""
    _check_bilinear(input1, input2, weight, bias)
    *batch, first = input1.shape
    second, kept = input2.shape[-1], weight.shape[0]
    rows = aten["reshape"](input1, [prod(batch), first])
    matrices = aten["reshape"](aten["permute"](weight, [1, 0, 2]), [first, kept * second])
    products = aten["view"](aten["mm"](rows, matrices), [prod(batch), kept, second])
    columns = aten["reshape"](input2, [prod(batch), second, 1])
    result = aten["reshape"](aten["bmm"](products, columns), [*batch, kept])
    return result if bias is None else aten["add"](result, bias)


def _check_bilinear(input1: Operand, input2: Operand, weight: Operand, bias: Operand | None) -> None:
    sizes = f"input1 {list(input1.shape)}, input2 {list(input2.shape)}, weight {list(weight.shape)}"
    if len(weight.shape) != 3 or not input1.shape or len(input1.shape) != len(input2.shape):
        raise RuntimeError(f"bilinear(): expected inputs of as many dimensions and a weight of 3, but got {sizes}")
    if not layouts.same_shape(tuple(input1.shape[:-1]), tuple(input2.shape[:-1])):
        raise RuntimeError(f"bilinear(): the dimensions before the last do not match: {sizes}")
    if not (holds(input1.shape[-1] == weight.shape[1]) and holds(input2.shape[-1] == weight.shape[2])):
        raise RuntimeError(f"bilinear(): the last dimensions do not match those of the weight: {sizes}")
    if bias is not None and not holds(bias.shape[0] == weight.shape[0]):
        raise RuntimeError(f"bilinear(): expected a bias of {weight.shape[0]} elements, got {list(bias.shape)}")


def one_hot(self: Operand, num_classes: int) -> Operand:
    """Return 1 at the position that each element names, of `num_classes` (-1: as many as are needed), else 0; int64."""
    if as_dtype(self.dtype) is not int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of dtype int64, but got {self.dtype}")
    if num_classes > 0 and is_fast_path(self) and self.array.size:
        largest = int(self.array.view("uint64").max())  # seen so, negative numbers are the largest
        if largest < num_classes < 2**31:  # (more is an error, which `arange` words)
            return wrap(_marks(self.array, num_classes))
    if layouts.is_empty(self.shape):
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif num_classes == -1:
        num_classes = _largest_class(self) + 1
    elif num_classes <= 0:
        raise RuntimeError(f"Class values must be smaller than num_classes, but got {num_classes} of these")
    else:
        aten["_assert_async"](aten["all"](aten["ge"](self, 0)), "Class values must be non-negative.")
        is_fitting = aten["all"](aten["lt"](self, num_classes))
        aten["_assert_async"](is_fitting, f"Class values must be smaller than num_classes, {num_classes}")
    classes = opwright.arange(num_classes, device=self.device)
    return aten["to"](aten["eq"](aten["unsqueeze"](aten["contiguous"](self), -1), classes), int64)


def _marks(positions: Any, classes: int) -> Any:
    """Return an array with 1 at the positions of rows of so many classes, else 0."""
    result = np.zeros((*positions.shape, classes), "int64")
    result.reshape(-1)[np.arange(0, positions.size * classes, classes) + positions.reshape(-1)] = 1
    return result


def _largest_class(self: Operand) -> int:
    if not holds(aten["item"](aten["min"](self)) >= 0):
        raise RuntimeError("Class values must be non-negative.")
    largest: int = aten["item"](aten["max"](self))
    return largest
