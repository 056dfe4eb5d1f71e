"""Arrays of PyTorch, JAX and MLX, and of any library that speaks DLPack or has `__array__`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Array
from opwright_core.inputs.kinds import Kind
from opwright_core.names.late_imports import import_late
from opwright_core.tensors import dlpack
from opwright_core.tensors.tensor import wrap
from opwright_core.texts.other_libraries import full_name

__all__ = ["JAX", "MLX", "PYTORCH", "kind_of_protocols", "pytorch_taker"]


def _values() -> Any:
    return import_late("opwright_bindings.torch.runtime.values")


def pytorch_taker() -> Callable[[Any], Array]:
    """Return the function that the compiled core takes tensors with where PyTorch has no API in C for it."""
    taker: Callable[[Any], Array] = _values().array_of
    return taker


def _from_pytorch(tensor: Any) -> Array:
    return _values().our_tensor(tensor.resolve_conj().resolve_neg()).array


def _to_pytorch(array: Array, values: Sequence[Any]) -> Any:
    return _values().torch_tensor(wrap(array))


def _is_recorded_by_pytorch(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
        return True  # of another class: without data, traced, distributed
    is_wrapped: bool = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return is_wrapped or (tensor.requires_grad and torch.is_grad_enabled()) or _has_tangent(tensor)


def _has_tangent(tensor: Any) -> bool:
    forward = sys.modules["torch"].autograd.forward_ad
    return forward._current_level >= 0 and forward.unpack_dual(tensor).tangent is not None


def _problem_of_pytorch(tensors: Sequence[Any]) -> str:
    for tensor in tensors:
        if tensor.layout is not sys.modules["torch"].strided:
            return f"its layout is {tensor.layout}"
        if tensor.is_nested or tensor.is_quantized:
            return "it is nested" if tensor.is_nested else "it is quantized"
        if tensor.device.type not in ("cpu", "cuda"):
            return f"it is on device {tensor.device}"
    return ""


def _mark_in_pytorch(tensor: Any, array: Array) -> None:
    torch = sys.modules["torch"]
    if tensor.is_neg() or tensor.is_conj():  # what was written is a copy, without negation
        with torch.no_grad():
            tensor.copy_(_to_pytorch(array, [tensor]))
    else:
        torch.autograd.graph.increment_version(tensor)


def _from_jax(value: Any) -> Array:
    is_here = all(device.platform == "cpu" for device in value.devices())
    return np.asarray(value) if is_here else dlpack.load(value)


def _to_jax(array: Array, values: Sequence[Any]) -> Any:
    numpy = sys.modules["jax"].numpy
    if not isinstance(array, np.ndarray):
        return numpy.from_dlpack(array)
    return numpy.asarray(array if array.base is None else array.copy())  # JAX keeps it: nobody else may write there


def _is_recorded_by_jax(value: Any) -> bool:
    return isinstance(value, sys.modules["jax"].core.Tracer)


def _to_mlx(array: Array, values: Sequence[Any]) -> Any:
    return sys.modules["mlx.core"].array(array)


PYTORCH: Final = Kind(
    "PyTorch",
    _from_pytorch,
    _to_pytorch,
    problem=_problem_of_pytorch,
    is_recorded=_is_recorded_by_pytorch,
    binding="torch",
    mark=_mark_in_pytorch,
)
JAX: Final = Kind("JAX", _from_jax, _to_jax, is_recorded=_is_recorded_by_jax, binding="jax")
MLX: Final = Kind("MLX", dlpack.load, _to_mlx)


def kind_of_protocols(kind: type) -> Kind:
    """Return the kind of a class with `__dlpack__` or `__array__`: results come back by the `from_dlpack` of its
    namespace (`__array_namespace__`); without one they are arrays of NumPy."""
    take = dlpack.load if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__") else np.asarray
    if take is dlpack.load and hasattr(kind, "__array_namespace__"):
        return Kind(full_name(kind), take, lambda array, values: values[0].__array_namespace__().from_dlpack(array))
    return Kind(full_name(kind), take, lambda array, values: array)
