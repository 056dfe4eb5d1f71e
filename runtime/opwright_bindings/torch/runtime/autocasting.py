"""Casts of an operator's tensors under autocast, by the policy that its schema names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opwright_bindings.torch.runtime.arguments import Arguments

__all__ = ["register_autocast"]

_KEYS = {"CPU": "AutocastCPU", "CUDA": "AutocastCUDA"}


def register_autocast(
    library: torch.library.Library,
    name: str,
    overload: torch._ops.OpOverload,
    arguments: Arguments,
    device: str,
    policy: str,
) -> None:
    """Register a policy for a device, `CPU` or `CUDA`; for both where it is ''."""
    for each in (device,) if device else ("CPU", "CUDA"):
        library.impl(name, _casting(overload, arguments, each.lower(), _KEYS[each], policy), _KEYS[each])


def _casting(
    overload: torch._ops.OpOverload, arguments: Arguments, device: str, key: str, policy: str
) -> Callable[..., Any]:
    kind, _, hint = policy.partition(": ")
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    of_dtypes = [
        position for position, each in enumerate(overload._schema.arguments) if "ScalarType" in str(each.real_type)
    ]

    def casting(*args: Any, **kwargs: Any) -> Any:
        if kind == "banned":
            raise RuntimeError(f"{overload} is unsafe under autocast: {hint}")
        values = arguments.filled(args, kwargs)
        if kind == "float32_dtype":
            for position in of_dtypes:
                values[position] = torch.float32 if values[position] is None else values[position]
        elif kind != "unchanged":
            _cast(values, arguments, _dtype(kind, values, arguments, device), device)
        positional = len([each for each in overload._schema.arguments if not each.kwarg_only])
        named = dict(zip(arguments.names[positional:], values[positional:], strict=True))
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return overload(*values[:positional], **named)

    return casting


def _dtype(kind: str, values: list[Any], arguments: Arguments, device: str) -> torch.dtype:
    if kind == "float32":
        return torch.float32
    if kind == "lower_precision":
        return torch.get_autocast_dtype(device)
    if kind != "promote":
        raise ValueError(f"{arguments.operator.name} has the autocast policy {kind!r}, which is not known")
    found = [each.dtype for each in _tensors(values, arguments) if _is_eligible(each, device)]
    return torch.float32 if torch.float32 in found else torch.get_autocast_dtype(device)


def _cast(values: list[Any], arguments: Arguments, dtype: torch.dtype, device: str) -> None:
    for position in arguments.tensors:
        if _is_eligible(values[position], device):
            values[position] = values[position].to(dtype)
    for position in arguments.lists:
        if values[position] is not None:
            values[position] = [each.to(dtype) if _is_eligible(each, device) else each for each in values[position]]


def _tensors(values: list[Any], arguments: Arguments) -> list[torch.Tensor]:
    lists = [each for position in arguments.lists for each in values[position] or ()]
    return [each for each in (*[values[position] for position in arguments.tensors], *lists) if each is not None]


def _is_eligible(tensor: torch.Tensor | None, device: str) -> bool:
    """Whether autocast casts a tensor: one of floats of that device, but for float64."""
    return (
        tensor is not None
        and tensor.device.type == device
        and tensor.is_floating_point()
        and tensor.dtype != torch.float64
    )
