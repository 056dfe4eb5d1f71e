"""The device of tensors that factories make without one: `with opwright.device("meta"):`, `set_default_device`.

Semantics: `torch.utils._device.DeviceContext`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from opwright.context_managers.blocks import modes_or_none
from opwright.python_dispatch.overrides import TorchFunctionMode, entered_modes, set_entered_modes
from opwright_core.arrays.devices import Device, as_device
from opwright_core.keys import PRE_DISPATCH
from opwright_core.names.late_imports import import_late
from opwright_core.state import NO_MODES, active_modes, set_modes

__all__ = ["DefaultDevice", "block_of", "get_default_device", "set_default_device"]

# Not those that are told a device by a tensor (`zeros_like`), and not `normal`, which computes where its means are.
_FACTORIES: Final = (
    "arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided",
    "eye", "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "ones", "rand", "randint",
    "randn", "randperm", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
)  # fmt: skip


class DefaultDevice(TorchFunctionMode):
    """A block in which factories that are given no device make tensors on this one."""

    def __init__(self, device: object) -> None:
        super().__init__()
        self.device = as_device(device)

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a call of `func`, of a factory with the device."""
        given = dict(kwargs or {})
        if given.get("device") is None and func in _factories():
            given["device"] = self.device
        return func(*args, **given)


class _Lasting(DefaultDevice):
    """The mode that `set_default_device` switches on: the outermost."""


@cache
def _factories() -> frozenset[Any]:
    public = import_late("opwright")
    named = (getattr(public, name) for name in _FACTORIES)
    return frozenset((*named, public.fft.fftfreq, public.fft.rfftfreq))


class _OfDevice(DefaultDevice):
    """The block of `with device as same:`."""

    def _switch_on(self) -> Any:
        super()._switch_on()
        return self.device


@cache
def block_of(device: Device) -> DefaultDevice:
    """Return the block of `with device:`, one for equal devices, since each thread keeps what was on before it."""
    return _OfDevice(device)


def set_default_device(device: object) -> None:
    """Set the device of tensors that factories make without one, in this thread; None sets the CPU again.

    Within a block of modes it is set until the block ends.
    """
    entered = [mode for mode in entered_modes() if not isinstance(mode, _Lasting)]
    if device is not None:
        entered.append(_Lasting(device))
    set_entered_modes(entered)
    modes = active_modes() or NO_MODES
    include = modes.include | PRE_DISPATCH if entered else modes.include & ~PRE_DISPATCH
    set_modes(modes_or_none(include, modes.mask, modes.top))


def get_default_device() -> Device:
    """Return the device of tensors that factories make without one, with its index if it has several."""
    found = next((mode.device for mode in entered_modes() if isinstance(mode, DefaultDevice)), None)
    if found is None:
        return as_device("cpu")
    return found if found.index is not None else import_late("opwright").empty(0, device=found).device
