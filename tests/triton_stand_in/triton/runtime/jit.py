"""What can be launched on a grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class KernelInterface:
    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError


class Autotuner(KernelInterface):
    def __init__(self, fn: Any, chosen: dict[str, Any]) -> None:
        self.fn, self.chosen = fn, chosen

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> None:
        self.fn.run(grid, *args, **kwargs, **self.chosen)
