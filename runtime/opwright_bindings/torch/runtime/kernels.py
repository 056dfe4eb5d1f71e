"""The kernels of an operator in PyTorch: ours, on the memory of its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.values import our_tensor, torch_tensor, torch_value
from opwright_core.tensors.tensor import Tensor

__all__ = ["by_device", "kernel_of", "on_stream"]


def kernel_of(arguments: Arguments) -> Callable[..., Any]:
    """Return the kernel for tensors with data on the CPU. Results share no memory with arguments."""
    operator, written = arguments.operator, arguments.written

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = arguments.filled(args, kwargs)
        given = list(values) if written else values
        arguments.ours(values, our_tensor)
        before = [_arrays(values[position]) for position in written]
        result = operator.call(*values)
        if not written:
            return _results(result, values, arguments)
        for position, arrays in zip(written, before, strict=True):
            _write_back(given[position], values[position], arrays)
        return _written(result, given, values, arguments)

    return kernel


def on_stream(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel for CUDA, which CuPy runs on PyTorch's current stream."""

    def on_cuda(*args: Any, **kwargs: Any) -> Any:
        import cupy

        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            return kernel(*args, **kwargs)

    return on_cuda


def by_device(overload: torch._ops.OpOverload, arguments: Arguments) -> Callable[..., Any]:
    """Return what chooses the kernel of an operator that makes tensors of none: by its argument `device`."""
    position = arguments.names.index("device") if "device" in arguments.names else None

    def choosing(*args: Any, **kwargs: Any) -> Any:
        device = None if position is None else arguments.filled(args, kwargs)[position]
        kind = torch.device("cpu" if device is None else device).type
        key = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(kind)
        if key is None:
            raise RuntimeError(f"{overload}: Opwright makes no tensors on {kind!r}")
        return overload.redispatch(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)), *args, **kwargs)

    return choosing


def _results(result: Any, values: list[Any], arguments: Arguments) -> Any:
    """Return what a functional operator gives. A kernel may give back what it was given: that is copied."""
    if isinstance(result, Tensor):
        array = result.array
        is_own = type(array) is np.ndarray and array.base is None
        return torch_tensor(result if is_own else _own(result, values, arguments))
    if isinstance(result, list):
        return [_results(each, values, arguments) for each in result]
    if isinstance(result, tuple):
        return tuple([_results(each, values, arguments) for each in result])
    return torch_value(result)


def _own(result: Tensor, values: list[Any], arguments: Arguments) -> Tensor:
    """Return a result with memory of its own."""
    array = result.array
    shares = any(_share(array, each.array) for each in _tensors(values, arguments))
    return result.clone() if shares else result


def _share(one: Any, other: Any) -> bool:
    if type(one) is not np.ndarray:
        return bool(one.data.mem is other.data.mem)
    return np.may_share_memory(one, other)


def _tensors(values: list[Any], arguments: Arguments) -> list[Tensor]:
    found = [values[position] for position in arguments.tensors if values[position] is not None]
    for position in arguments.lists:
        found += [each for each in values[position] or () if each is not None]
    return found


def _arrays(value: Any) -> list[Any]:
    return [None if each is None else each.array for each in (value if isinstance(value, list) else [value])]


def _write_back(given: Any, value: Any, before: list[Any]) -> None:
    """Give PyTorch's tensors what was written to others instead: an `out` of another shape is a new array."""
    theirs, ours = (given, value) if isinstance(value, list) else ([given], [value])
    for target, tensor, array in zip(theirs, ours, before, strict=True):
        if tensor is None or tensor.array is array:
            continue
        made = torch_tensor(tensor)
        if target.untyped_storage().resizable():
            target.resize_(made.shape).copy_(made)
        else:
            target.set_(made)


def _written(result: Any, given: list[Any], values: list[Any], arguments: Arguments) -> Any:
    """Return what a writing operator gives: PyTorch's own tensors for those that it wrote."""
    theirs = {id(values[position]): given[position] for position in arguments.written}
    if isinstance(result, Tensor):
        return theirs[id(result)] if id(result) in theirs else _results(result, values, arguments)
    if isinstance(result, tuple):
        return tuple([_written(each, given, values, arguments) for each in result])
    if isinstance(result, list):
        return [_written(each, given, values, arguments) for each in result]
    return torch_value(result)
