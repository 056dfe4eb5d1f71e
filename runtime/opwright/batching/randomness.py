"""Random operators under `vmap`: an error, numbers of its own for each sample, or the same for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.batching.batching import Batching
from opwright.batching.loop import unbatched_write
from opwright.batching.tables import BatchRule
from opwright.dispatch.aten import aten
from opwright.levels.kernels import mapped

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["is_drawing", "is_random", "random_rule"]


def is_drawing(operator: Operator) -> bool:
    """Whether an operator draws random numbers, itself or by the operators that it is composed of."""
    return "nondeterministic_seeded" in operator.tags


def is_random(operator: Operator) -> bool:
    """Whether an operator draws random numbers itself."""
    return is_drawing(operator) and not operator._can_decompose()


def check_randomness(level: Batching) -> None:
    """Raise RuntimeError where nothing was said of random numbers."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def random_rule(operator: Operator) -> BatchRule:
    """Return the rule of an operator that draws random numbers, by the level's `randomness`."""
    signature = operator.signature
    size = signature.names.index("size") if "size" in signature.names else None
    is_inplace = 0 in signature.written and bool(signature.tensors) and signature.tensors[0].position == 0

    def rule(level: Batching, *args: Any) -> Any:
        check_randomness(level)
        batched = level.any_batched(args)
        if level.randomness == "same":
            if not batched:
                return operator.call(*args)
            raise RuntimeError(
                f"vmap: {operator.name} has a batched tensor among its arguments: Vmap does not currently support same "
                "randomness with a batched tensor input. Use randomness='different'"
            )
        if is_inplace:
            if not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            operator.call(*[mapped(value, lambda each: _lead(level, each)) for value in args])
            return args[0]
        if signature.tensors:
            return level.batched(operator.call(*[mapped(value, level.expanded) for value in args]))
        if size is not None:
            given = list(args)
            given[size] = [level.size, *args[size]]
            return level.batched(operator.call(*given))
        return level.batched(aten["stack.default"]([operator.call(*args) for _ in range(level.size)]))

    return rule


def _lead(level: Batching, tensor: Any) -> Any:
    found = level.front(tensor)
    return tensor if found is None else found
