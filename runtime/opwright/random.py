"""The random state of all devices, under the names of `torch.random`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opwright.creation.construction import from_numpy
from opwright_core.arrays.devices import as_device
from opwright_core.arrays.dtypes import uint8
from opwright_core.random_state.generator import (
    default_generator,
    generator_of,
    initial_seed,
    keeping_states,
    manual_seed,
    seed,
)
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip


def get_rng_state(device: object = "cpu") -> Tensor:
    """Return where a device's default generator stands, a uint8 Tensor of 5,056 elements in PyTorch's format."""
    return from_numpy(generator_of(device).get_state())


def set_rng_state(new_state: Any, device: object = "cpu") -> None:
    """Continue a device's default generator from a state. Raises TypeError for what is no Tensor, RuntimeError for one
    of other bytes."""
    if not isinstance(new_state, Tensor) or new_state.dtype != uint8:
        what = type(new_state).__name__ if not isinstance(new_state, Tensor) else f"a Tensor of {new_state.dtype}"
        raise TypeError(f"expected a state that get_rng_state returned, a Tensor of uint8, got {what}")
    generator_of(device).set_state(new_state.numpy(force=True))


def fork_rng(
    devices: Iterable[object] | None = None, enabled: bool = True, device_type: str = "cuda"
) -> keeping_states:
    """Give the random state back at the end of the block: that of the CPU, and of `devices` of a type, named or
    numbered."""
    if not enabled:
        return keeping_states(())
    wanted = [f"{device_type}:{device}" if isinstance(device, int) else device for device in devices or ()]
    return keeping_states(map(generator_of, ["cpu", *map(as_device, wanted)]))
