"""The settings of autocast in this thread or task: on which devices it is on, and to which dtype it casts there.

Note [Autocast regions]
Calls come to the key Autocast while the thread's modes include it: within a region, or where a guard includes the key.
One key stands for all devices, so that tensors need not carry it and calls outside of regions pay nothing. Which
devices a region is for, and to which dtype it casts, stands in `Settings`. Where a guard includes the key and there is
no region, autocast is on for all devices.

A kernel at Autocast goes on without it for the device that it cast for. Then the operators that a composite calls get
what the composite was given, and not what each of them would have been cast to.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from opwright.context_managers.blocks import ThreadBlock, modes_or_none
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType, as_dtype, bfloat16, float16
from opwright_core.keys import AUTOCAST
from opwright_core.state import MODES, NO_MODES, Modes, active_modes, set_modes

if TYPE_CHECKING:
    from opwright_core.tensors.tensor import Tensor

__all__ = [
    "SETTINGS", "Captured", "Excluded", "Settings", "available_device", "clear_autocast_cache", "current", "devices_on",
    "exclude", "get_autocast_dtype", "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled", "switch",
]  # fmt: skip

_FIRST: Final = ("cuda", "cpu")  # of several devices: the others, these, in PyTorch's order
_DEFAULT_DTYPES: Final[Mapping[str, DType]] = {"cpu": bfloat16}
Casts = dict[Any, tuple["Tensor", Any, int, "Tensor"]]


@dataclass(frozen=True, slots=True)
class Settings:
    """The devices that autocast is on for, where the key Autocast is included; `devices` of None stands for all.

    `dtypes` has what was set instead of a device's default. `casts` holds the casts that the outermost region keeps;
    outside of regions there is none. Never changed but for `casts`.
    """

    devices: tuple[str, ...] | None = None
    dtypes: Mapping[str, DType] = field(default_factory=dict)
    keeps_casts: bool = True
    casts: Casts | None = None

    def dtype(self, device_type: str) -> DType:
        """Return what operators run in on a device, if they are better in a lower precision."""
        return self.dtypes.get(device_type) or _DEFAULT_DTYPES.get(device_type, float16)


_AT_FIRST: Final = Settings()
SETTINGS: Final[ContextVar[Settings]] = ContextVar("opwright_autocast", default=_AT_FIRST)
current: Final = SETTINGS.get


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for tensors of a device: "cpu", "cuda", and backends that were registered.

    Raises RuntimeError for an unknown device.
    """
    return Device(device_type).type != "meta"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for tensors of a device. Raises RuntimeError for an unknown device."""
    device_type = available_device(device_type)
    modes = active_modes()
    if modes is None or not modes.include & modes.mask & AUTOCAST:
        return False
    devices = current().devices
    return devices is None or device_type in devices


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype of lower precision of a device: bfloat16 on the CPU, float16 elsewhere, unless another was set.

    Raises RuntimeError for an unknown device.
    """
    return current().dtype(available_device(device_type))


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for a device, until it is switched again or the region around ends."""
    switch(available_device(device_type), enabled)


def set_autocast_dtype(device_type: str, dtype: object) -> None:
    """Set the dtype of lower precision of a device. Raises TypeError for what is no dtype."""
    settings = current()
    SETTINGS.set(replace(settings, dtypes={**settings.dtypes, available_device(device_type): as_dtype(dtype)}))


def is_autocast_cache_enabled() -> bool:
    """Whether regions keep the casts of parameters until they end."""
    return current().keeps_casts


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether regions keep the casts of parameters until they end."""
    SETTINGS.set(replace(current(), keeps_casts=bool(enabled)))


def clear_autocast_cache() -> None:
    """Forget the casts of parameters that the region keeps."""
    casts = current().casts
    if casts is not None:
        casts.clear()


def available_device(device_type: str) -> str:
    """Return the type of a device that there is autocast for. Raises RuntimeError for any other."""
    found = Device(device_type).type
    if found == "meta":
        raise RuntimeError("there is no autocast for the device type 'meta', whose tensors have no data to cast")
    return found


def devices_on(settings: Settings) -> tuple[str, ...]:
    """Return the devices that autocast is on for where the key is included, in the order in which they are cast."""
    return _FIRST if settings.devices is None else settings.devices


def switch(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for a device in this thread's modes and settings."""
    modes = active_modes() or NO_MODES
    settings = current()
    on = devices_on(settings) if modes.include & modes.mask & AUTOCAST else ()
    left = [each for each in on if each != device_type]
    devices = sorted([*left, device_type] if enabled else left, key=_order)
    SETTINGS.set(replace(settings, devices=tuple(devices) or None))
    set_modes(_with(modes) if devices else _without(modes))


def _order(device_type: str) -> int:
    return _FIRST.index(device_type) if device_type in _FIRST else -1


def _with(modes: Modes) -> Modes:
    """Return the modes given, with autocast."""
    return Modes(modes.include | AUTOCAST, modes.mask | AUTOCAST, modes.top)


def _without(modes: Modes) -> Modes | None:
    """Return the modes given, without autocast."""
    return modes_or_none(modes.include & ~AUTOCAST, modes.mask, modes.top)


def exclude(modes: Modes | None) -> Modes | None:
    """Return the modes given, without autocast for any device."""
    return None if modes is None else _without(modes)


class Excluded(ThreadBlock):
    """A block without autocast for one device: that of several which a call was cast for."""

    _variables = (MODES, SETTINGS)

    def __init__(self, device_type: str) -> None:
        self._device_type = device_type

    def _switch_on(self) -> None:
        switch(self._device_type, False)


class Captured(ThreadBlock):
    """A block with the autocast that was on where it was made, for what is computed again there."""

    _variables = (MODES, SETTINGS)

    def __init__(self) -> None:
        modes = active_modes()
        self._is_on = modes is not None and modes.include & modes.mask & AUTOCAST != 0
        self._settings = current()

    def _switch_on(self) -> None:
        casts = current().casts
        SETTINGS.set(replace(self._settings, casts={} if casts is None else casts))
        modes = active_modes() or NO_MODES
        set_modes(_with(modes) if self._is_on else _without(modes))
