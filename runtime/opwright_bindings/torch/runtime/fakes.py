"""Fake kernels of an operator in PyTorch: our rules, on the sizes of its fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException as _DataDependent
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from opwright.errors import DataDependentOutputError
from opwright.fake.arrays import meta_array, wrap_meta
from opwright.fake.modes import FakeTensorMode
from opwright.pytree import tensors_of
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.sizes import Sizes
from opwright_bindings.torch.runtime.values import our_dtype, torch_dtype
from opwright_core.arrays.devices import Device
from opwright_core.tensors.tensor import Tensor

__all__ = ["fake_kernel_of"]


def fake_kernel_of(arguments: Arguments) -> Callable[..., Any]:
    """Return the fake kernel: what our operator gives for tensors without data, of PyTorch's sizes."""
    operator = arguments.operator

    def fake(*args: Any, **kwargs: Any) -> Any:
        values = arguments.filled(args, kwargs)
        given = list(values)
        sizes = Sizes()
        mode = FakeTensorMode(shape_env=sizes)  # type: ignore[arg-type]  # it stands for a ShapeEnv
        arguments.ours(values, lambda tensor: _fake(tensor, sizes, mode), sizes.ours)
        with mode:
            try:
                result = operator.call(*values)
            except DataDependentOutputError as error:
                raise _DataDependent(f"{operator.name}: {error}") from None  # type: ignore[arg-type]  # (it is shown)
        theirs = {id(values[place]): given[place] for place in arguments.written}
        roots = {id(each.array.root) for each in tensors_of(values)}
        found = _results(result, theirs, roots)
        _forget_others(found)
        return found

    return fake


def _forget_others(results: Any) -> None:
    """Forget sizes that only data tells and that no result has: PyTorch wants to find all that were made."""
    mode = torch._guards.detect_fake_mode()
    env = None if mode is None else mode.shape_env
    if env is not None and env.pending_fresh_unbacked_symbols:
        tensors = results if isinstance(results, (list, tuple)) else [results]
        shown = set().union(*[free_unbacked_symbols(each) for each in tensors if isinstance(each, torch.Tensor)])
        env.pending_fresh_unbacked_symbols = [each for each in env.pending_fresh_unbacked_symbols if each in shown]


def _fake(tensor: torch.Tensor, sizes: Sizes, mode: FakeTensorMode) -> Tensor:
    shape = tuple([sizes.ours(size) for size in tensor.shape])
    strides = tuple([sizes.ours(stride) for stride in tensor.stride()])
    place = mode.place(Device(str(tensor.device)))
    return wrap_meta(meta_array(shape, strides, our_dtype(tensor.dtype), place))


def _results(result: Any, theirs: dict[int, Any], roots: set[int]) -> Any:
    """Return results as PyTorch's; one with the memory of an argument is copied, as `kernels` does."""
    if isinstance(result, Tensor):
        if id(result) in theirs:
            return theirs[id(result)]
        return _empty(result.clone() if id(result.array.root) in roots else result)
    if isinstance(result, list):
        return [_results(each, theirs, roots) for each in result]
    if isinstance(result, tuple):
        return tuple([_results(each, theirs, roots) for each in result])
    return Sizes.theirs(result)


def _empty(tensor: Tensor) -> torch.Tensor:
    array = tensor.array
    unit = array.itemsize
    shape = [Sizes.theirs(size) for size in array.shape]
    strides = [Sizes.theirs(stride // unit) for stride in array.strides]
    return torch.empty_strided(shape, strides, dtype=torch_dtype(array.dtype), device=str(tensor.device))
