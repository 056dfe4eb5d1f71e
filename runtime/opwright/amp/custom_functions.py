"""Decorators of `autograd.Function`: what its forward and backward do within a region of autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from opwright.amp.casts import is_eligible
from opwright.amp.regions import autocast
from opwright.amp.settings import get_autocast_dtype, is_autocast_enabled
from opwright_core.arrays.dtypes import DType, as_dtype
from opwright_core.tensors.tensor import Tensor

__all__ = ["custom_bwd", "custom_fwd"]

Call = TypeVar("Call", bound=Callable[..., Any])


@overload
def custom_fwd(fwd: None = None, *, device_type: str, cast_inputs: object = None) -> Callable[[Call], Call]: ...
@overload
def custom_fwd(fwd: Call, *, device_type: str, cast_inputs: object = None) -> Call: ...
def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: object = None) -> Any:
    """Decorate the `forward` of an `autograd.Function`.

    Within a region for the device, `cast_inputs` is what its floating-point Tensors (but float64) are cast to, and it
    runs without autocast; without `cast_inputs` the operators in it are cast each for itself. Raises ValueError for a
    device type that is no str. Semantics: `torch.amp.custom_fwd`.
    """
    _check(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    wanted = None if cast_inputs is None else as_dtype(cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        is_on = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and wanted is None
        if wanted is None or not is_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, wanted), **_cast(kwargs, device_type, wanted))

    return forward


@overload
def custom_bwd(bwd: None = None, *, device_type: str) -> Callable[[Call], Call]: ...
@overload
def custom_bwd(bwd: Call, *, device_type: str) -> Call: ...
def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the `backward` of an `autograd.Function` whose `forward` has `custom_fwd`: it runs with the autocast of
    that, wherever it is called from. Raises ValueError for a device type that is no str. Semantics:
    `torch.amp.custom_bwd`."""
    _check(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward


def _check(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"device_type is the name of a device, such as 'cpu'; got {device_type!r}")


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Return the value with eligible Tensors cast, in lists, tuples and mappings too."""
    if isinstance(value, Tensor):
        return value.to(dtype) if is_eligible(value, device_type) else value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_cast(item, device_type, dtype) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
