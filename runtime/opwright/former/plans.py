"""The plan caches of packages that were generated before kernels were rows: their shims make the keys themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.plans.plan_cache import PlanCache, ViewCache
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.tensors.results import planned_result

__all__ = ["Form", "Forms", "KnownForms", "KnownViews", "known_result"]

Form, Forms, KnownViews, known_result = TensorSpec, SpecCache, ViewCache, planned_result


class KnownForms(PlanCache):
    """A plan cache beside a written-out shim, which makes the key. `kernel` is the function on arrays, which gets the
    arguments at `positions` (-1: NumPy); without one the shim alone serves."""

    __slots__ = ("kernel", "positions")

    def __init__(
        self,
        kinds: str = "",
        kernel: Callable[..., Any] | None = None,
        positions: tuple[int, ...] = (),
        operands: tuple[int, ...] = (),
        writes: int = -1,
    ) -> None:
        super().__init__(kinds, self._key, operands, writes, runs_in_core=kernel is not None)
        self.kernel = kernel
        self.positions = positions

    learn, learn_plan = PlanCache.fill, PlanCache.fill_from_plan

    def _key(self, *values: Any) -> Any:
        """Return the key of a call, as the shim makes it."""
        parts = [part for kind, value in zip(self.kinds, values, strict=True) for part in _key_parts(kind, value)]
        return parts[0] if len(parts) == 1 else tuple(parts)


def _key_parts(kind: str, value: Any) -> tuple[Any, ...]:
    """Return what a written-out shim has in its key of an argument."""
    match kind:
        case "T":
            return _seen(value)
        case "O":
            return (None if value is None else _seen(value),)
        case "L":
            return (tuple(map(_seen, value)),)
        case "I" | "F":
            return (None if value is None else tuple(value),)
        case "N":
            return type(value), value
        case "V":
            return (value,)
    return ()


def _seen(array: Any) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype
