"""Families of operators that take batches themselves: before their last dimensions, or as the dimension N of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opwright.batching.loop import unbatched_write
from opwright.batching.results import as_results
from opwright.batching.samples import call_sample
from opwright.batching.tables import BatchRule
from opwright.dimensions import families
from opwright.namespaces import aten

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Folded", "Leading"]


class Leading(families.Leading):
    """The family of operators on the last dimensions of their operands, before which batches broadcast."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: all operands get the batch, and as many dimensions after it as the one with the most."""
        is_inplace = 0 in operator.signature.written

        def rule(level: Batching, *args: Any) -> Any:
            if is_inplace and not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            given = [(position, core) for position, core in self.operands if args[position] is not None]
            ranks = [level.rank(args[position]) - core for position, core in given]
            if min(ranks) < 0:
                call_sample(level, operator, args)
            found = list(args)
            most = max(ranks)
            for (position, _), rank in zip(given, ranks, strict=True):
                value = level.expanded(args[position])
                if rank < most:
                    value = aten["reshape.default"](value, [level.size, *[1] * (most - rank), *value.shape[1:]])
                found[position] = value
            result = operator.call(*found)
            return args[0] if is_inplace else as_results(operator, result, lambda each: _with_batch(level, each))

        return rule


def _with_batch(level: Batching, value: Any) -> Any:
    if value.shape == (0,) and level.size != 0:
        value = level.repeated(value)  # a part that was not asked for is empty, whatever the batch
    return level.put(value, 0)


class Folded(families.Folded):
    """The family of operators on images, which may have a dimension N: it takes the batch."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: the batch becomes N, or a part of it."""

        def rule(level: Batching, *args: Any) -> Any:
            found = list(args)
            rank = level.rank(args[self.operands[0]])
            if rank < self.core or rank > self.core + 1:
                call_sample(level, operator, args)
            is_folded = rank > self.core
            sizes: Sequence[int] = ()
            for position in self.operands:
                if args[position] is None:
                    continue
                value = level.expanded(args[position])
                if is_folded:
                    sizes = value.shape[:2]
                    value = aten["reshape.default"](value, [sizes[0] * sizes[1], *value.shape[2:]])
                found[position] = value
            result = operator.call(*found)

            def unfolded(value: Any) -> Any:
                if is_folded:
                    value = aten["view.default"](value, [*sizes, *value.shape[1:]])
                return level.put(value, 0)

            return as_results(operator, result, unfolded)

        return rule
