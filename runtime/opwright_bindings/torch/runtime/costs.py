"""Costs of operators for PyTorch's FlopCounterMode, given to it when its module is imported, not before."""

from __future__ import annotations

from typing import Any, Final

import torch

from opwright.cost.parts import cost
from opwright.fake.arrays import META_PLACE, meta_array, wrap_meta
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.late_modules import when_imported
from opwright_bindings.torch.runtime.values import our_dtype
from opwright_core.tensors.tensor import Tensor

__all__ = ["register_cost"]

# By the name of a packet, its overloads. PyTorch makes another packet of the name when an overload is added.
_known: Final[dict[str, dict[str, Arguments]]] = {}


def register_cost(overload: torch._ops.OpOverload, arguments: Arguments) -> None:
    """Have PyTorch's FlopCounterMode count an operator."""
    packet = overload.overloadpacket
    _known.setdefault(packet._qualified_op_name, {})[overload._overloadname] = arguments
    when_imported("torch.utils.flop_counter", "register_flop_formula", lambda: _give(packet))


def _give(packet: Any) -> None:
    from torch.utils.flop_counter import flop_registry, register_flop_formula

    if packet not in flop_registry:
        register_flop_formula(packet, get_raw=True)(lambda *args, **kwargs: _flops(packet, args, kwargs))


def _flops(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the operations of a call. PyTorch does not say of which overload."""
    kwargs = {name: value for name, value in kwargs.items() if name != "out_val"}
    overloads = _known[packet._qualified_op_name]
    named = next(iter(overloads))
    if len(overloads) > 1:
        named = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    arguments = overloads[named or "default"]
    values = arguments.filled(args, kwargs)
    arguments.ours(values, _without_data, lambda value: int(value) if isinstance(value, torch.SymInt) else value)
    return cost(arguments.operator.call, *values).flops


def _without_data(tensor: torch.Tensor) -> Tensor:
    shape, strides = tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))
    return wrap_meta(meta_array(shape, strides, our_dtype(tensor.dtype), META_PLACE))
