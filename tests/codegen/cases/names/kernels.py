"""Kernels of the case."""

from typing import Any


def fill_random(xp: Any, self: Any, start: int, stop: int | None, generator: Any) -> Any:
    self[...] = start
    return self


def import_array(self: Any, value: int) -> Any:
    return self + value


def first_of(self: Any, *others: Any) -> Any:
    return self
