"""Rules written by hand, which schema files name: `batched by package.module:function`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opwright.batching.loop import unbatched_write
from opwright.batching.registered import registered_rule
from opwright.batching.samples import call_sample
from opwright.batching.tables import BatchRule
from opwright.dimensions import families
from opwright.namespaces import aten

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["ByHand"]


class ByHand(families.ByHand):
    """The family of operators with a rule of their own, `function(info, in_dims, *args, **kwargs)`, which is imported
    when it is first needed. It handles the in-place variant, too, whose result is written back."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule, as the level calls it."""
        rule = registered_rule(operator, getattr(importlib.import_module(self.module), self.name))
        if 0 not in operator.signature.written:
            return rule

        def written(level: Batching, *args: Any) -> Any:
            if not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            result = level.front(rule(level, *args))
            target = level.front(args[0])
            if result.shape != target.shape or result.dtype is not target.dtype:
                call_sample(level, operator, args)  # which raises, or casts
            aten["copy_.default"](target, result)
            return args[0]

        return written
