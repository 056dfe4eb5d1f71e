"""Costs of operators for PyTorch's FlopCounterMode, given to it when its module is imported, not before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import torch

from opwright.bindings.torch.arguments import Arguments
from opwright.bindings.torch.values import our_dtype
from opwright.cost.parts import cost
from opwright.fake.arrays import META_PLACE, meta_array, wrap_meta
from opwright_core.tensors.tensor import Tensor

__all__ = ["register_cost"]

_MODULE: Final = "torch.utils.flop_counter"
# By the name of a packet, its overloads. PyTorch makes another packet of the name when an overload is added.
_known: Final[dict[str, dict[str, Arguments]]] = {}
_packets: Final[list[Any]] = []


def register_cost(overload: torch._ops.OpOverload, arguments: Arguments) -> None:
    """Have PyTorch's FlopCounterMode count an operator."""
    packet = overload.overloadpacket
    _known.setdefault(packet._qualified_op_name, {})[overload._overloadname] = arguments
    _packets.append(packet)
    if (module := sys.modules.get(_MODULE)) is not None:
        _give(module, packet)
    elif not any(isinstance(each, _Waiting) for each in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def _give(module: ModuleType, packet: Any) -> None:
    if packet not in module.flop_registry:
        module.register_flop_formula(packet, get_raw=True)(lambda *args, **kwargs: _flops(packet, args, kwargs))


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


class _Waiting(MetaPathFinder):
    """A finder that has the module import as it does, and then gives it what waits."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of PyTorch's module, with a loader that goes on; None for all others."""
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None:
            found.loader = _Following(found.loader)
        return found


class _Following(Loader):
    """A loader that gives the module what waits once it is loaded."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, and give it what waits."""
        self._loader.exec_module(module)
        for packet in _packets:
            _give(module, packet)
