"""Gradients made to fit where they flow: summed over what was broadcast, cast to the dtype, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright.autograd.nodes import AccumulateGrad, Edge, Node, Recorded, RecordedSeveral, node_of, number_of
from opwright.autograd.quick import is_array_alone, is_fast_path
from opwright.inspection.backward_sources import recorded_by
from opwright.namespaces import aten
from opwright_core.arrays.devices import Device, dtype_of, shape_of
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, dtype_name
from opwright_core.arrays.layouts import Shape
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["add", "fit", "ones_like", "zeros", "zeros_for"]


def add(first: Any, second: Any) -> Any:
    """Return the sum of two gradients, either of which may be None."""
    if first is None:
        return second
    return first if second is None else aten["add.Tensor"](first, second)


def zeros(shape: Shape, dtype: DType, device: Device | None) -> Tensor:
    """Return the zeros that a gradient stands for that is not defined."""
    made: Tensor = aten["zeros.default"](list(shape), dtype=dtype, device=device)
    return made


def zeros_for(edges: Sequence[Edge]) -> tuple[Tensor | None, ...]:
    """Return zeros as the gradients that go to edges look, None where there is no edge."""
    return tuple(None if edge is None else zeros(*node_of(edge).output(number_of(edge))) for edge in edges)


def ones_like(tensor: Tensor) -> Tensor:
    """Return the ones that a backward of a scalar begins with."""
    if is_fast_path(tensor):
        array = np.empty(tensor.array.shape, tensor.array.dtype)
        array.fill(1)
        return wrap(array)
    made: Tensor = aten["ones_like.default"](tensor)
    return made


def fit(grad: Any, edge: Edge, node: Node | None, index: int) -> Any:
    """Return a gradient with the shape and dtype of what it belongs to: summed over broadcast dimensions, and cast.

    `node` computed it, as its `index`th. Raises RuntimeError where it cannot belong there.
    """
    if type(grad) is Tensor and isinstance(edge, Recorded):
        array = grad.array
        if getattr(array, "dtype", None) is edge.dtype and array.shape == edge.shape:
            return grad
    if type(edge) is not tuple and is_array_alone(grad) and _serves_arrays(edge):
        array = grad.array
        if array.dtype is edge.dtype and array.shape == edge.shape:
            return grad
        is_simple = array.dtype is edge.dtype and array.itemsize > 2 and array.flags.c_contiguous
        if is_simple and _expands(edge.shape, array.shape):
            return wrap(_summed(array, edge.shape))
    if not isinstance(grad, Tensor):
        raise RuntimeError(_invalid(node, index, f"expected a Tensor or None, but got {type(grad).__name__}"))
    shape, dtype, device = node_of(edge).output(number_of(edge))
    own_shape = shape_of(grad.array)
    if own_shape != shape:
        if not _expands(shape, own_shape):
            raise RuntimeError(
                _invalid(node, index, f"got {list(own_shape)} but expected shape compatible with {list(shape)}")
            )
        grad = aten["sum_to_size.default"](grad, list(shape))
    if dtype is not None and dtype_of(grad.array) != dtype:  # (a Function may take any)
        grad = _cast(grad, dtype, node, index)
    if device is not None and (own := grad.device) is not device and own != device:
        if grad.ndim:
            raise RuntimeError(_invalid(node, index, f"expected device {device} but got {own}"))
        grad = aten["to.dtype_layout"](grad, device=device)  # of a 0-dim tensor that met others
    return grad


def _serves_arrays(node: Node) -> bool:
    """Whether a gradient in NumPy's memory is where it flows to."""
    return isinstance(node, Recorded) or (type(node) is AccumulateGrad and type(node.array) is np.ndarray)


def _summed(array: np.ndarray[Any, Any], shape: Shape) -> np.ndarray[Any, Any]:
    """Return the sums over the dimensions that broadcasting from `shape` repeated."""
    missing = array.ndim - len(shape)
    if repeated := [position for position, size in enumerate(shape, missing) if size == 1 != array.shape[position]]:
        array = array.sum(axis=tuple(repeated), keepdims=True)
    return array.sum(axis=tuple(range(missing))) if missing else array


def _cast(grad: Tensor, dtype: DType, node: Node | None, index: int) -> Tensor:
    """Return the gradient in the dtype of what it belongs to. Generated nodes alone may give a complex gradient of a
    real tensor, whose real part it is then."""
    is_generated = isinstance(node, Recorded | RecordedSeveral)
    if (grad.dtype in COMPLEX) != (dtype in COMPLEX) and grad.dtype not in FLOATING and not is_generated:
        kind = "real" if dtype not in COMPLEX else "complex or floating point"
        raise RuntimeError(_invalid(node, index, f"expected a {kind} dtype, but got {dtype_name(grad.dtype)}"))
    if grad.dtype in COMPLEX and dtype not in COMPLEX:
        grad = aten["real.default"](grad)
    result: Tensor = aten["to.dtype"](grad, dtype)
    return result


def _expands(shape: Shape, wide: Shape) -> bool:
    """Whether a tensor of `shape` broadcasts to `wide`."""
    if len(shape) > len(wide):
        return False
    return all(a == b or a == 1 for a, b in zip(reversed(shape), reversed(wide), strict=False))


def _invalid(node: Node | None, index: int, problem: str) -> str:
    """Return the message for a gradient that a node computed, as its `index`th, or that a backward pass was given."""
    if node is None:
        return f"invalid gradient of output {index} - {problem}"
    name = node.input_name(index)
    where = f"Function {node.name()} returned an invalid gradient at index {index}"
    return f"{where} - {problem}{f', for {name}' if name else ''}{recorded_by(node, index)}"
