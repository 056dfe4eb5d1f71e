"""Keys of plan caches: what a rule may read of a call's arguments, by a letter for each.

`T` is a tensor, `O` one or None, `L` a list of them: shape, strides and dtype of each array. `I` and `F` are ints and
floats in a sequence, or None, `N` a number, with its type, `V` a value that says what it is. `t`, `o`, `l` and `.` are
tensors and values that no rule reads. Of rows whose plans are not kept there are `X`, a value that no key has, and
tensors or None in a list (`Q`, `q`) or a list of tensors or None (`P`, `p`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.unrolling import Definition

__all__ = ["CACHED", "KEY", "key_function"]

CACHED: Final = frozenset("TOLIFNVtol.")  # the letters of which keys are made
# The key of the arguments `x0`, `x1` and so on (Note [Unrolled closures]), with arrays for tensors.
KEY: Final = (
    "({T: x#.shape, x#.strides, x#.dtype, |O: None if x# is None else (x#.shape, x#.strides, x#.dtype), "
    "|L: tuple([(each.shape, each.strides, each.dtype) for each in x#]), "
    "|IF: None if x# is None else tuple(x#), |N: type(x#), x#, |V: x#, })"
)
_KEY_OF: Final = Definition(f"def key_of({{*: x#, }}):\n    return {KEY}\n", globals())


def key_function(kinds: str) -> Callable[..., Any]:
    """Return a function that makes the key of a call of its arguments, with arrays for tensors."""
    return _KEY_OF.make(kinds)
