"""Batching rules of generated modules, which are loaded when `vmap` first needs one."""

from __future__ import annotations

from typing import Any, Final

from opwright.dispatch.rule_table import RuleTable

__all__ = ["BATCHING"]

# The families of `opwright.batching` that operators belong to.
BATCHING: Final[RuleTable[Any]] = RuleTable()
