"""The rules by which `vmap` runs operators: those that users register, and those of generated packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import BATCHING, RuleTable

__all__ = ["GENERATED", "REGISTERED", "BatchRule", "Family", "VmapRule"]

# `function(info, in_dims, *args, **kwargs)`, which returns `(output, out_dims)`.
VmapRule = Callable[..., Any]
# `function(level, *args)` with every argument, in modes below the level, which returns tensors of the level.
BatchRule = Callable[..., Any]


class Family(Protocol):
    """A family of operators, as generated packages name it for one of them: it makes the rule."""

    def rule_of(self, operator: Operator) -> BatchRule: ...


REGISTERED: Final[RuleTable[VmapRule]] = RuleTable()
GENERATED: Final[RuleTable[Family]] = BATCHING
