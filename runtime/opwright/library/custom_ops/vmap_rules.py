"""The rules by which `vmap` runs operators, as users registered them: kept here, for the interpreter to find.

A rule is `function(info, in_dims, *args, **kwargs)`, which returns `(output, out_dims)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.dispatch.rule_table import RuleTable

__all__ = ["RULES", "VmapRule", "add", "find"]

VmapRule = Callable[..., Any]
RULES: Final[RuleTable[VmapRule]] = RuleTable()
add: Final = RULES.put
find: Final = RULES.find
