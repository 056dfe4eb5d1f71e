"""The keys that kernels for devices are registered at."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.user_kernels.registering import key_of_device
from opwright_core.dispatch.call.conversion import is_tensor_like
from opwright_core.dispatch.package.declarations import read
from opwright_core.keys import DispatchKey

__all__ = ["keys_of_devices", "named_devices"]


def named_devices(device_types: str | Sequence[str] | None) -> frozenset[str]:
    """Return the devices that have a kernel of their own."""
    return frozenset([device_types] if isinstance(device_types, str) else device_types or ())


def keys_of_devices(device_types: str | Sequence[str] | None, declaration: str, name: str) -> list[DispatchKey]:
    """Return the keys of kernels for these devices; None stands for all that have no kernel of their own.

    Raises RuntimeError for an unknown device, ValueError where calls could not tell the device: there is neither a
    Tensor among the arguments nor a `device`.
    """
    if device_types is None:
        return [DispatchKey.CompositeExplicitAutograd]
    names = [device_types] if isinstance(device_types, str) else list(device_types)
    types = [argument.type for argument in read(declaration).arguments]
    if not any(map(is_tensor_like, types)) and "Device" not in [text.rstrip("?") for text in types]:
        raise ValueError(
            f"{name}: Functions without tensor inputs are required to have a `device: torch.device` argument, by which "
            "calls find the kernel of a device"
        )
    return [key_of_device(device) for device in names]
