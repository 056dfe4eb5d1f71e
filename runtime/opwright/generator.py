"""Random state: a Generator over NumPy's, and the default one."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

from opwright.devices import Device

__all__ = ["Generator", "default_generator", "initial_seed", "manual_seed"]

_DEFAULT_SEED: Final = 67280421310721


class Generator:
    """A source of random numbers for one device. `rng` is the `numpy.random.Generator` that kernels draw from.

    Streams are NumPy's, not PyTorch's: the same seed gives other numbers than there.
    """

    __slots__ = ("_device", "_seed", "rng")
    rng: np.random.Generator

    def __init__(self, device: str | Device = "cpu") -> None:
        self._device = Device(device)
        self.manual_seed(_DEFAULT_SEED)

    @property
    def device(self) -> Device:
        """The device it serves."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`; negative ones count from 2**64, as in PyTorch. Raises RuntimeError beyond 64 bits."""
        if not -(2**63) <= seed < 2**64:
            raise RuntimeError(f"Overflow when unpacking long: a seed has 64 bits, got {seed}")
        self._seed = int(seed) % 2**64
        self.rng = np.random.default_rng(self._seed)
        return self

    def seed(self) -> int:
        """Start again from a seed taken from the system, and return it."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        """The seed it last started from."""
        return self._seed

    def get_state(self) -> dict[str, Any]:
        """Where the stream stands, as NumPy's bit generator tells it."""
        return dict(self.rng.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a state of `get_state`."""
        self.rng.bit_generator.state = state

    def __repr__(self) -> str:
        return f"Generator(device={str(self._device)!r}, seed={self._seed})"


default_generator: Final = Generator()
_lock = threading.Lock()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator."""
    with _lock:
        return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()
