"""The text of GuardOnDataDependentError: what was asked, what is known, and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opwright.symbolic.locations import users_line

if TYPE_CHECKING:
    from opwright.symbolic.shape_env import Range, ShapeEnv

_ADVICE = """\
Say beforehand what holds: opwright.check(condition), opwright.check_is_size(size) or ShapeEnv.constrain_range(...);
or go a way that is right for every value where nothing is known: opwright.guard_or_false(condition)."""


def describe(env: ShapeEnv, what: str, names: Sequence[str]) -> str:
    """Return the message for a question about symbols of these names."""
    lines = [f"{what} depends on data: neither ranges nor hints decide it\n"]
    asked = users_line()
    if asked is not None:
        lines.append(f"  asked at {asked}, in {asked.function}\n{asked.shown('    ')}")
    lines += [f"  {describe_symbol(env, name)}\n" for name in names]
    return "".join([*lines, _ADVICE])


def describe_symbol(env: ShapeEnv, name: str) -> str:
    """Return a symbol's range or hint, and where it was made."""
    symbol = env.symbols[name]
    sources = ", ".join(filter(None, symbol.sources))
    made = f" by {sources}" if symbol.hint is None and sources else f" for {sources}" if sources else ""
    location = "" if symbol.location is None else f" at {symbol.location}"
    known = _bounds(name, env.ranges.get(name, symbol.range))
    if symbol.hint is not None:
        known = f"{known}, here {symbol.hint}"
    return f"{known}; made{made}{location}"


def _bounds(name: str, bounds: Range) -> str:
    low, high = bounds
    if low == high:
        return f"{name} == {low}"
    left = "" if low == -math.inf else f"{low} <= "
    right = "" if high == math.inf else f" <= {high}"
    return f"{left}{name}{right}" if left or right else f"{name}: any value"
